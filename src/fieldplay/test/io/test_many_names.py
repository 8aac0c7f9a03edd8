"""Archives of very many files: what is looked at before the first message, counted."""

import os
import re
import zipfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldplay.datasets.registry import open_dataset
from fieldplay.io import containers
from fieldplay.io import file_names as names_module
from fieldplay.io.containers import FolderFiles, ZipFiles
from fieldplay.io.file_names import NameTable, folders_of, last_part
from fieldplay.topics.archive_topics import archive_topic_streams
from fieldplay.topics.selection import Selection

IMAGE_COUNT = 3000
PATTERNS = [
    r"a\d+\.b", r"A1.*", r".*12\.b", r"a[0-9]{2,3}\.b", r"a[1-3]+.*", r"a[^1]*", r"(?!a1).*", r"(?P<n>\d)x(?P=n)",
    r"(\d)x\1", r"a\d{,2}\.b", r"a\x31.*", r".+\.b(\.\d+)?", r"x9", r"a[a-f1-4]+",
]  # fmt: skip


@given(names=st.lists(st.from_regex(r"\A([a2]/)?[ax]?[0-9]{0,3}x?[0-9]{0,2}(\.b)?\Z"), unique=True))
def test_name_search_equals_trying_each_name(names: list[str]) -> None:
    table = NameTable(sorted(names))
    for pattern in PATTERNS:
        expression = re.compile(pattern, re.IGNORECASE)
        matches = [name for name in sorted(names) if expression.fullmatch(last_part(name))]
        assert table.matching(pattern) == matches, pattern
        for folder in ("a", r"\d", "3"):
            inside = [name for name in matches if any(re.fullmatch(folder, part) for part in folders_of(name))]
            assert table.matching(pattern, folder) == inside, (pattern, folder)


def test_regex_is_tried_on_few_shapes_of_many_names(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[str] = []
    monkeypatch.setattr(names_module, "last_part", lambda name: tried.append(name) or last_part(name))
    names = [f"cam/MainCam_{1656928800 + number}.040000.jpg" for number in range(100_000)]
    assert NameTable(names).matching(r"MainCam_.*\.jpe?g") == names
    assert len(tried) == 1


@pytest.fixture(params=["folder", "zip"])
def many(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    names = [f"{side}Cam_{1656928800 + number // 10}.{number % 10}00000.jpg"
             for side in ("Main", "Aux") for number in range(IMAGE_COUNT // 2)]  # fmt: skip
    if request.param == "zip":
        with zipfile.ZipFile(tmp_path / "many.zip", "w") as archive:
            for name in names:
                archive.writestr(f"many/{name}", b"")
        return tmp_path / "many.zip"
    folder = tmp_path / "many"
    folder.mkdir()
    (folder / names[0]).write_bytes(b"")
    for name in names[1:]:
        os.link(folder / names[0], folder / name)
    return folder


def test_images_are_read_lazily_and_listed_once(many: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counts: Counter[str] = Counter()
    count_calls(monkeypatch, counts, os, "scandir", of=many)
    count_calls(monkeypatch, counts, containers, "ZipDirectory", of=many)
    for kind in (FolderFiles, ZipFiles):
        for method in ("open", "read", "size"):
            count_calls(monkeypatch, counts, kind, method)
    with open_dataset(many) as archive:
        feeds = archive_topic_streams(archive, Selection())
        assert sum(span.count for stream in archive.streams.values() for span in stream.spans) == IMAGE_COUNT
        assert feeds
    assert +counts == {"scandir" if many.is_dir() else "ZipDirectory": 1}


def count_calls(
    monkeypatch: pytest.MonkeyPatch, counts: Counter[str], owner: Any, name: str, *, of: Path | None = None
) -> None:
    """Count calls of a function; with `of`, those alone whose first argument is that path."""
    real = getattr(owner, name)

    def counting(*arguments: Any, **named: Any) -> Any:
        counts[name] += of is None or Path(arguments[0]) == of
        return real(*arguments, **named)

    monkeypatch.setattr(owner, name, counting)
