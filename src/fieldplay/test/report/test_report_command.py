"""The command `fieldplay report` on a small archive and on the bag that `convert` makes of it."""

import html
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import pytest

import fieldplay
from fieldplay.cli.main import main
from fieldplay.report.page import is_report, write_page
from fieldplay_testing.reference_messages import START_NS, make, write_bag
from fieldplay_testing.tiny_ameds import TinyAmeds

LOADING = ("src", "srcset", "href", "action", "formaction", "data", "poster", "background", "ping")
Call = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An archive that no test changes."""
    root = tmp_path_factory.mktemp("archive") / "Traverse_5"
    TinyAmeds(root).write_all()
    return root


@pytest.fixture(scope="module")
def page(archive: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    out = tmp_path_factory.mktemp("page") / "page.html"
    assert main(["report", str(archive), str(out)]) == 0
    return out.read_text()


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str]) -> Call:
    """The command in this process: its exit code, what is printed, and what is told beside it."""

    def run(*arguments: object) -> tuple[int, str, str]:
        try:
            code = main([str(argument) for argument in arguments])
        except SystemExit as end:
            code = int(end.code or 0)
        return code, *capsys.readouterr()

    return run


class Loaded(HTMLParser):
    """What a page names that a browser would follow or load, and all its tags."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.tags: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.links += [value or "" for name, value in attrs if name.rpartition(":")[2] in LOADING]


def page_text(page: str) -> str:
    """The texts of a page, one space between them."""
    return html.unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", page.replace("<wbr>", ""))))


def test_page_of_archive_shows_all_published_topics(page: str) -> None:
    text = page_text(page)
    assert "ARCHES Mount Etna dataset (AMEDS), ESA's rover Interact" in text
    for row in (
        "/ameds/imu/data_raw sensor_msgs/msg/Imu 200 100 Hz 0.01 s",
        "/ameds/main_cam/image_raw/compressed sensor_msgs/msg/CompressedImage 60 30 Hz",
        "/ameds/wheels/odom nav_msgs/msg/Odometry 100 50 Hz",
        "/tf tf2_msgs/msg/TFMessage 206 104 Hz",
    ):
        assert row in text, re.findall("/tf tf2_msgs/msg/TFMessage [^A-Z]*", text)
    for key in ("map", "pictures", "clouds", "streams", "joints", "signals", "tf", "problems", "notes"):
        assert f'<section id="{key}">' in page
    assert "30 frames, 21 of them moving" in text
    assert "measured: gyroscope against GnssBodyAngularVelocity has the slope 57.296" in text
    assert "none problems" in text


def test_page_is_small_and_self_contained(page: str) -> None:
    assert len(page) < 2_000_000
    assert "http" not in re.sub(r'http-equiv="Content-Security-Policy"', "", page)
    assert "<script" not in page


def test_page_loads_no_external_resources(page: str) -> None:
    loaded = Loaded()
    loaded.feed(page)
    links = loaded.links + re.findall(r"url\(['\"]?([^)]*)", page)
    assert len(links) > 10 and [link for link in links if not link.startswith(("#", "data:"))] == []
    assert loaded.tags.isdisjoint({"base", "iframe", "object", "embed", "form"}) and "@import" not in page
    assert "Content-Security-Policy\" content=\"default-src 'none'; " in page


def test_converted_bag_gives_same_streams(archive: Path, page: str, tmp_path: Path, call: Call) -> None:
    assert call("convert", archive, tmp_path / "bag", "--derived")[0] == 0
    code, out, _ = call("report", tmp_path / "bag", tmp_path / "bag.html")
    assert code == 0
    assert re.fullmatch(rf"{tmp_path}/bag.html: \d+ topics, no problems, [\d.]+ kB\n", out)
    of_bag, of_archive = page_text((tmp_path / "bag.html").read_text()), page_text(page)
    start, end = "Topic Messages Rate Largest gap", "Joints"

    def rows(text: str) -> list[str]:
        return sorted(re.split(r" (?=/)", text.split(start)[1].split(end)[0].strip()))

    assert len(rows(of_archive)) > 30
    assert rows(of_bag) == rows(of_archive)


def test_defects_are_listed_by_kind_with_file_and_row(tmp_path: Path, call: Call) -> None:
    archive = TinyAmeds(tmp_path / "archive")
    archive.write_all()
    table, image = archive.root / "GnssImu.csv", archive.root / "AuxCam_1656931512.000000.jpg"
    table.write_text(table.read_text() + "1656931514,1\n" * 10)
    image.write_bytes(b"")
    code, out, _ = call("report", archive.root, tmp_path / "page.html")
    assert code == 0
    assert "11 problems" in out
    text = page_text((tmp_path / "page.html").read_text())
    assert "Short row 10" in text
    assert f"{table.name}, row 201 : expected 13 columns, got 2: '1656931514,1'" in text
    assert "and 4 more" in text
    assert f"{image.name} : expected a JPEG, PNG or BMP image, got an empty file" in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["report", "ARCHIVE"], "required: OUT"),
        (["report", "/no/such/place", "OUT.html"], "there is no such folder or file"),
        (["report", "ARCHIVE", "OUT.pdf"], "expected a name that ends in .html"),
        (["report", "ARCHIVE", "ARCHIVE/page.html"], "lies in what it is to be about, which is never written to"),
        (["report", "BAG", "OUT.html", "--set", "gyro_unit=deg/s"], "bag has no parameter 'gyro_unit'; it has"),
        (["report", "ARCHIVE", "OUT.html", "--set", "gyro_unit=rpm"], "gyro_unit: expected one of"),
        (["report", "ARCHIVE", "LETTER"], "exists and is no page of fieldplay: it is not replaced"),
        (["report", "ARCHIVE", "FOLDER"], "exists and is no page of fieldplay: it is not replaced"),
    ],
)  # fmt: skip
def test_wrong_usage_exits_with_2_and_changes_nothing(
    arguments: list[str], message: str, archive: Path, tmp_path: Path, call: Call
) -> None:
    letter, folder = tmp_path / "letter.html", tmp_path / "folder.html"
    letter.write_text("<p>dear")
    folder.mkdir()
    bag = write_bag(tmp_path / "bag", [("/x", START_NS, make("std_msgs/msg/Float64"))])
    paths = {"ARCHIVE": archive, "BAG": bag, "LETTER": letter, "FOLDER": folder, "OUT": tmp_path / "out"}
    before = {path.name for path in tmp_path.iterdir()}
    resolved = [
        re.sub("^(ARCHIVE|BAG|LETTER|FOLDER|OUT)", lambda match: str(paths[match[0]]), each) for each in arguments
    ]
    code, out, err = call(*resolved)
    assert (code, out) == (2, "")
    assert message in err
    assert {path.name for path in tmp_path.iterdir()} == before
    assert letter.read_text() == "<p>dear"


def test_unknown_input_exits_with_1(tmp_path: Path, call: Call) -> None:
    (tmp_path / "other").mkdir()
    code, out, err = call("report", tmp_path / "other", tmp_path / "page.html")
    assert (code, out) == (1, "")
    assert err.startswith("fieldplay: ")
    (tmp_path / "other" / "metadata.yaml").write_text("rosbag2_bagfile_information: {}")
    code, _, err = call("report", tmp_path / "other", tmp_path / "page.html")
    assert code == 1
    assert "no storage file (.mcap, .db3) of a bag in it" in err
    assert [path.name for path in tmp_path.iterdir()] == ["other"]


def test_earlier_page_is_replaced(tmp_path: Path, call: Call) -> None:
    bags = [write_bag(tmp_path / f"bag{k}", [(f"/x{k}", START_NS, make("std_msgs/msg/Float64"))]) for k in range(2)]
    out = tmp_path / "new" / "page.html"
    for k, bag in enumerate(bags):
        assert call("report", bag, out)[0] == 0
        assert f"/x{k}" in page_text(out.read_text())
    assert is_report(out)
    assert [path.name for path in out.parent.iterdir()] == ["page.html"]


def test_failed_write_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "rename", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_page(tmp_path / "new" / "deep" / "page.html", "<p>")
    assert list(tmp_path.iterdir()) == []


def test_unwritable_folder_is_reported(tmp_path: Path, call: Call) -> None:
    bag = write_bag(tmp_path / "bag", [("/x", START_NS, make("std_msgs/msg/Float64"))])
    (tmp_path / "file").write_text("")
    code, _, err = call("report", bag, tmp_path / "file" / "page.html")
    assert code == 1
    assert f"cannot write {tmp_path / 'file' / 'page.html'}" in err


def test_interrupt_leaves_no_files(tmp_path: Path) -> None:
    archive = TinyAmeds(tmp_path / "archive", seconds=2)
    archive.write_all()
    script = (
        "import sys, fieldplay.report.report_page as building\n"
        "from fieldplay.cli.main import main\n"
        "heard = building.read_recording\n"
        "def slow(source, progress):\n"
        "    sys.stdout.write('reading\\n'); sys.stdout.flush()\n"
        "    while True: heard(source, progress)\n"
        "building.read_recording = slow\n"
        f"sys.exit(main(['report', {str(archive.root)!r}, {str(tmp_path / 'new' / 'page.html')!r}]))\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "reading\n"
    process.send_signal(signal.SIGINT)
    start = time.monotonic()
    _, err = process.communicate(timeout=30)
    assert process.returncode == 130, err
    assert "interrupted; nothing was left behind" in err
    assert time.monotonic() - start < 20
    assert [path.name for path in tmp_path.iterdir()] == ["archive"]


def test_archive_knows_how_many_images_come(archive: Path) -> None:
    with fieldplay.open(archive) as recording:
        expected = recording.with_derived().expected_counts
        assert expected["/ameds/main_cam/image_raw/compressed"] == 60
        assert expected["/ameds/imu/data_raw"] == recording.topics["/ameds/imu/data_raw"].count == 200
