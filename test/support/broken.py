"""What is done to a small archive to break it, and what is then said and converted of it."""

import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from fieldplay.cli.main import main
from fieldplay.core.yaml_safe import LOADER

Spoil = Callable[[Path], object]
Found = dict[str, Any]


def content(name: str, change: Callable[[bytes], bytes]) -> Spoil:
    """Other bytes in a file."""
    return lambda root: (root / name).write_bytes(change((root / name).read_bytes()))


def lines(name: str, edit: Callable[[list[bytes]], object]) -> Spoil:
    """Edit the lines of a table, without their ends, in place."""

    def spoil(root: Path) -> None:
        rows = (root / name).read_bytes().splitlines()
        edit(rows)
        (root / name).write_bytes(b"\n".join(rows) + b"\n")

    return spoil


def line(name: str, number: int, change: Callable[[bytes], bytes]) -> Spoil:
    """Another line in a table; they count from 1."""
    return lines(name, lambda rows: rows.__setitem__(number - 1, change(rows[number - 1])))


def cut(data: bytes) -> bytes:
    """The first half."""
    return data[: len(data) // 2]


def zip_of(folder: Path, rename: Callable[[str], str] = str, kind: Callable[[Path], int] | None = None) -> Path:
    """What is in a folder in a zip beside it; `kind` tells how each is compressed, if not as it is."""
    path = folder.with_suffix(".zip")
    with zipfile.ZipFile(path, "w") as archive:
        for entry in sorted(folder.rglob("*")):
            name = rename(str(entry.relative_to(folder)))
            archive.write(entry, name, kind(entry) if kind else zipfile.ZIP_STORED, 1)
    return path


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    """The exit code and what is printed; an exception would be a traceback."""
    code = main([str(argument) for argument in arguments])
    out, err = capsys.readouterr()
    return code, out, err


def checked(capsys: pytest.CaptureFixture[str], archive: Path) -> tuple[int, Found]:
    """The exit code of `fieldplay check --json`, and what it says."""
    code, out, _ = run(capsys, "check", "--json", archive)
    return code, json.loads(out)


def counts_of(bag: Path) -> dict[str, int]:
    """Messages by topic, of those that have any."""
    information = yaml.load((bag / "metadata.yaml").read_text(), LOADER)["rosbag2_bagfile_information"]
    return {
        entry["topic_metadata"]["name"]: entry["message_count"]
        for entry in information["topics_with_message_count"]
        if entry["message_count"]
    }
