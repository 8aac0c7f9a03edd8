"""`fieldplay view --save`: what a file of Rerun holds of an archive or a bag, read by the SDK's own reader."""

import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fieldplay.cli.main import main
from fieldplay.messages import records
from fieldplay.messages.message_batches import Topic
from fieldplay.streams import image_topics
from fieldplay.topics.selection import Selection
from fieldplay.view.rerun_stream import Recording
from fieldplay_testing import tiny_ameds, tiny_sherpatt
from fieldplay_testing.reference_messages import (
    START_NS,
    make,
    stamped_message,
    transform,
    transforms,
    write_bag,
)
from fieldplay_testing.tiny_ameds import TinyAmeds
from support.archive_messages import messages_of
from support.rerun_recordings import (
    CHECKS,
    CURVES,
    blueprints_of,
    check_topic,
    entities_of,
    texts_of,
)
from support.tiny_acfr import TinyAcfr
from support.tiny_ida import TinyIda
from support.tiny_rosario import TinyRosario

TEXTS = "diagnostic_msgs/msg/DiagnosticArray"
SECOND = 10**9


def written(dataset: str, folder: Path) -> Path:
    """A small archive of a dataset."""
    if dataset == "sherpatt":
        return tiny_sherpatt.write_archive(folder / "20181127")
    if dataset == "ameds":
        ameds = TinyAmeds(folder / "AMEDS" / "Traverse_5")
        ameds.write_all()
        return ameds.root.parent
    if dataset == "ida":
        ida = TinyIda(folder / "insight_ida")
        ida.write_all()
        return ida.root
    if dataset == "rosario":
        rosario = TinyRosario(folder / "sequence01")
        rosario.write_all()
        return rosario.root
    acfr = TinyAcfr(folder / "29-DynamicDayTriangleClear")
    acfr.write_all()
    return acfr.root


def saved(source: Path, out: Path, *options: str) -> Path:
    assert main(["view", str(source), "--save", str(out), *options]) == 0
    return out


@pytest.mark.parametrize("dataset", ["acfr", "ameds", "ida", "rosario", "sherpatt"])
def test_file_holds_what_bag_of_same_archive_does(dataset: str, tmp_path: Path) -> None:
    """Counts, times and values of every topic, pictures byte for byte."""
    root = written(dataset, tmp_path)
    messages = messages_of(root, Selection(derived=True, joints_tf=True))
    out = saved(root, tmp_path / "out.rrd", "--derived")
    entities, looked = entities_of(out), set()
    for name, rows in messages.items():
        topic = name if name.startswith("/") else f"/{dataset}/{name}"
        msgtype = rows[0][1].__msgtype__
        if msgtype == TEXTS:
            assert [time for time, _ in texts_of(entities, topic)] == [time for time, _ in rows]
        elif msgtype in (*CURVES, *CHECKS):
            assert check_topic(entities, topic, rows) > 0, topic
        else:
            pytest.fail(f"{topic}: nothing looks at its {msgtype}")
        looked.add(topic)
    assert len(looked) > 5
    assert blueprints_of(out) >= 1
    assert any(entity.startswith("/robot/") for entity in entities)


def test_each_defect_is_line_of_text_where_it_was_met(tmp_path: Path) -> None:
    root = written("ameds", tmp_path)
    image = next(root.rglob(f"MainCam_{tiny_ameds.START + 1}.000000.jpg"))
    image.write_bytes(image.read_bytes()[:100])
    table = next(root.rglob("GnssImu.csv"))
    table.write_text(table.read_text().replace(",", ",x", 1))
    values = list(texts_of(entities_of(saved(root, tmp_path / "out.rrd")), "/defects"))
    assert [time // SECOND - tiny_ameds.START for time, _ in values] == [0, 1]
    assert "GnssImu.csv:1: column acc_x: expected a number, got 'x" in values[0][1]
    assert f"{image.name}: expected an image of" in values[1][1]


def strange_messages() -> Iterator[tuple[str, int, Any]]:
    """A loop of frames, a cloud without a frame, and a type that nothing shows."""
    for row in range(20):
        now = START_NS + row * SECOND // 10
        turns = [transform(now, "a", "b", (row, 0, 0)), transform(now, "b", "c", (0, 1, 0))]
        if row >= 10:
            turns.append(transform(now, "c", "a", (0, 0, 1)))
        yield "/tf", now, transforms(*turns)
        yield "/words", now, make("std_msgs/msg/String", data=f"word {row}")
        yield "/place", now, stamped_message("geometry_msgs/msg/PointStamped", now, "", point__x=float(row))
        yield "/number", now, make("std_msgs/msg/Float64", data=float(row))


def test_what_is_strange_in_bag_is_reported_and_rest_is_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bag = write_bag(tmp_path / "bag", strange_messages())
    entities = entities_of(saved(bag, tmp_path / "out.rrd"))
    output = capsys.readouterr().err
    assert "not shown: 1 topic of types that the view does not know: /words (std_msgs/msg/String)" in output
    assert "/place: its messages name no frame: it is not connected to the other frames" in output
    assert "tf: the frames a -> b -> c -> a make a loop: 10 transforms that close it are left out" in output
    assert "Traceback" not in output
    assert [values for _, values in entities["/number"]["Scalars:scalars"]] == [[float(row)] for row in range(20)]
    assert len(entities["/tf/c"]["Transform3D:translation"]) == 20
    assert "/tf/a" not in entities


def test_part_of_bag_is_shown(tmp_path: Path) -> None:
    bag = write_bag(tmp_path / "bag", strange_messages())
    options = ["--start", "0.5", "--duration", "0.7", "--topics", "number|tf"]
    entities = entities_of(saved(bag, tmp_path / "out.rrd", *options))
    assert [values for _, values in entities["/number"]["Scalars:scalars"]] == [[float(row)] for row in range(5, 13)]
    assert "/place" not in entities


def test_of_images_one_of_so_many_is_shown(few_images: Path, tmp_path: Path) -> None:
    shown = [
        entities_of(saved(few_images, tmp_path / f"{every}.rrd", "--every", every, "--topics", "main_cam/image"))
        for every in ("1", "2")
    ]
    all_of_them, some = (entities["/ameds/main_cam/image_raw/compressed"]["EncodedImage:blob"] for entities in shown)
    assert len(all_of_them) > 2
    assert some == all_of_them[::2]


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (["--save", "out.rrd", "--web"], 2, "--save and --web: expected one of them"),
        (["--save", "out.txt"], 2, "out.txt: expected a name that ends in .rrd"),
        (["--connect", "127.0.0.1:9"], 1, "no viewer listens at 127.0.0.1:9"),
        (["--connect", "127.0.0.1:99999"], 2, "--connect: expected HOST:PORT, got '127.0.0.1:99999'"),
        ([], 1, "there is no display to open a window on: --web shows it in a browser, --save writes a file"),
        (["--web", "--bind", "203.0.113.1"], 1, "203.0.113.1:9090 cannot be used"),
        (["--live"], 2, "--live: expected no ARCHIVE with it"),
    ],
)
def test_what_cannot_be_is_reported(
    options: list[str], code: int, message: str, *,
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    bag = write_bag(tmp_path / "bag", strange_messages())
    try:
        result = main(["view", str(bag), *options])
    except SystemExit as end:
        result = int(str(end.code))
    assert result == code
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out.rrd").exists()


def test_port_in_use_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bag = write_bag(tmp_path / "bag", strange_messages())
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert main(["view", str(bag), "--web", "--port", str(port)]) == 1
    assert f"127.0.0.1:{port} cannot be used (Address already in use); --port and --bind name another" in (
        capsys.readouterr().err
    )


def test_without_extra_reports_how_to_get_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "rerun", None)
    with pytest.raises(SystemExit, match="2"):
        main(["view", str(tmp_path), "--save", str(tmp_path / "out.rrd")])
    assert "view needs the extra 'view' (Rerun, some 170 MB): ./ws setup --with view" in capsys.readouterr().err


def test_images_are_read_once_and_sent_by_half_second(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside tables whose rows come all at once; their CameraInfo needs to know whether they are whole.

    The first are sent sooner: a thirty-second of a second, then twice as much each time.
    """
    read, sent = [], []
    whole, send = image_topics.whole_image, Recording._send_images

    def counted(self: Recording, topic: Topic, parts: list[records.Images]) -> None:
        sent.append(len(parts))
        send(self, topic, parts)

    monkeypatch.setattr(image_topics, "whole_image", lambda data: read.append(1) or whole(data))
    monkeypatch.setattr(Recording, "_send_images", counted)
    saved(written("ameds", tmp_path), tmp_path / "out.rrd")
    cameras, overlays = 2 * 60, 30
    assert (len(read), sum(sent)) == (cameras + overlays, cameras + overlays)
    assert len(sent) <= 3 * (4 + 5)
