"""Settings of logs: frames and cameras, of the folder or of files beside a log that is given alone."""

import os
from pathlib import Path
from typing import Any

import pytest

from fieldplay.core.errors import ArchiveError
from fieldplay.datasets.archive import Archive
from fieldplay.datasets.registry import open_dataset
from fieldplay_testing import tiny_sherpatt as tiny
from support.sherpatt_messages import defects_of

BODY = "sherpaTT_body"
TURNED, TURNED_BACK = [0.0, 0.0, tiny.ROOT_HALF, tiny.ROOT_HALF], [0.0, 0.0, tiny.ROOT_HALF, -tiny.ROOT_HALF]
SAME = {"translation": [0.0, 0.0, 0.0], "rotation": [0, 0, 0, 1]}


def folder_of(root: Path, *pairs: tuple[str, str]) -> Path:
    states = [tiny.state(time) for time in tiny.times()]
    tiny.write(root / "sherpa_tt_mcs_Logger_InFuse.msg", tiny.log_of({tiny.ODOMETRY: ("RigidBodyState", states)}))
    rows: dict[Any, Any] = dict.fromkeys(pairs, SAME)
    tiny.write(root / "x_tf.msg", rows)
    return root


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        ([(BODY, "a"), ("a", "b"), ("b", BODY)], "got a loop, as there is sherpa_tt_body -> a -> b;"),
        ([(BODY, "a"), (BODY, "b"), ("b", "a")], "got a second one: a hangs on sherpa_tt_body already"),
        ([(BODY, "a"), ("a", "a")], "got one that is its own parent"),
    ],
)
def test_what_makes_frames_no_tree_is_defect(pairs: list[tuple[str, str]], message: str, tmp_path: Path) -> None:
    (defect,) = defects_of(folder_of(tmp_path, *pairs))
    assert defect.kind == "unreadable_settings" and message in defect.message


@pytest.mark.parametrize(
    ("back", "message", "stays"),
    [
        ({"translation": [0.0, 0.0, -1.0], "rotation": TURNED_BACK}, "as its inverse; it is left out", ("a",)),
        (
            {"translation": [0.0, 0.5, -1.0], "rotation": TURNED_BACK},
            "which is not its inverse by 0.500 m and 0.0 degrees; both are left out",
            (),
        ),
        (
            {"translation": [0.0, 0.0, -1.0], "rotation": TURNED},
            "which is not its inverse by 0.000 m and 180.0 degrees; both are left out",
            (),
        ),
    ],
)
def test_pair_in_both_directions_is_defect_and_one_counts_if_they_agree(
    back: Any, message: str, stays: tuple[str, ...], tmp_path: Path
) -> None:
    root = folder_of(tmp_path, (BODY, "b"), ("b", "c"))
    there = {"translation": [0.0, 0.0, 1.0], "rotation": TURNED}
    tiny.write(root / "x_tf.msg", {(BODY, "a"): there, ("a", BODY): back, (BODY, "b"): SAME, ("b", "c"): SAME})
    (defect,) = defects_of(root)
    pairs = "a -> sherpa_tt_body: expected each pair in one direction, got sherpa_tt_body -> a too, "
    assert (defect.file, defect.message) == ("x_tf.msg", pairs + message)
    with open_dataset(root, "sherpatt", {}) as archive:
        assert archive.spec.tree["sherpa_tt_body"] == (*stays, "b")
        assert archive.spec.tree["b"] == ("c",)


def test_pair_in_both_directions_in_two_files_names_both(tmp_path: Path) -> None:
    root = folder_of(tmp_path, (BODY, "a"))
    tiny.write(root / "y_tf.msg", {("a", BODY): SAME})
    (defect,) = defects_of(root)
    assert defect.file == "y_tf.msg" and "got sherpa_tt_body -> a of x_tf.msg too" in defect.message


def test_frames_of_second_root_are_noted_and_no_edge_that_is_in_no_file(tmp_path: Path) -> None:
    with open_dataset(folder_of(tmp_path, ("a", BODY), ("x", "y")), "sherpatt", {}) as archive:
        notes = [note for note in archive.notes if note.startswith("transforms of the settings")]
        assert archive.spec.tree["sherpa_tt_body"] == ("a",)
    assert len(notes) == 1 and notes[0].endswith("their root is not a frame of the rover: x -> y")


def test_settings_alone_are_reported_as_settings(tmp_path: Path) -> None:
    path = tiny.write(tmp_path / "x_tf.msg", tiny.FRAMES)
    with pytest.raises(ArchiveError, match="a file of settings with 8 entries, no log"):
        open_dataset(path, "sherpatt", {})


OTHER = {("imu", "sherpaTT_body"): {"translation": [0.0, 0.0, 0.0], "rotation": [0, 0, 0, 1]}}
PART = "recording_20181202_000000000.msg"
BOTH = "settings next to it are read too: recording_20181202_tf.msg, recording_20181202_camera.msg"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    tiny.write_images(tmp_path)
    tiny.write(tmp_path / "recording_20181202_tf.msg", tiny.FRAMES)
    tiny.write(tmp_path / "recording_20181202_camera.msg", tiny.CAMERAS)
    states = [tiny.state(time) for time in tiny.times()]
    tiny.write(tmp_path / "dgps_Logger_InFuse.msg", tiny.log_of({tiny.DGPS: ("RigidBodyState", states)}))
    return tmp_path


def opened(path: Path) -> tuple[Archive, list[str]]:
    with open_dataset(path, "sherpatt") as archive:
        return archive, archive.notes


def test_part_has_cameras_and_frames_of_its_recording_and_no_other_part(folder: Path) -> None:
    archive, notes = opened(folder / PART)
    assert archive.spec.cameras["stereo_left"].source == "recording_20181202_camera.msg"
    assert archive.spec.tree["tcp"] == ("camera_left",)
    assert sum(span.count for span in archive.streams["stereo_left"].spans) == 3
    assert BOTH in notes
    assert f"{PART} is one of 2 parts of recording_20181202: it alone is read, the folder has them all" in notes
    assert list(archive.streams) == ["stereo_left", "stereo_right"]


def test_log_of_another_name_has_only_settings_of_folder(folder: Path) -> None:
    archive, notes = opened(folder / "dgps_Logger_InFuse.msg")
    assert BOTH in notes and archive.spec.tree["tcp"] == ("camera_left",)
    assert not [note for note in notes if "parts of" in note]


def test_of_settings_of_two_recordings_each_part_has_its_own(folder: Path) -> None:
    tiny.write(folder / "recording_20181203_tf.msg", OTHER)
    archive, notes = opened(folder / PART)
    assert BOTH in notes and "tcp" in archive.spec.tree
    archive, notes = opened(folder / "dgps_Logger_InFuse.msg")
    assert "tcp" not in archive.spec.tree and "sherpa_tt_body" not in archive.spec.tree
    message = "recording_20181202_tf.msg, recording_20181203_tf.msg: by their names none is of dgps_Logger_InFuse.msg"
    assert f"{message}, so they are not read; give the folder to read all" in notes
    assert "settings next to it are read too: recording_20181202_camera.msg" in notes


@pytest.mark.parametrize("name", ["recording_20181202_tf.msg", "recording_20181202_7_tf.msg"])
def test_settings_that_cannot_be_read_are_defect_and_log_plays(name: str, folder: Path) -> None:
    (folder / "recording_20181202_tf.msg").unlink()
    (folder / name).write_bytes(tiny.pack(tiny.FRAMES)[:-3])
    archive, _ = opened(folder / PART)
    assert [defect.file for defect in archive.defects.listed] == [name]
    assert "stereo_left" in archive.streams


def test_log_that_is_called_as_settings_is_not_read_beside_another(folder: Path) -> None:
    states = [tiny.state(time) for time in tiny.times()]
    tiny.write(folder / "recording_20181202_tf.msg", tiny.log_of({tiny.ODOMETRY: ("RigidBodyState", states)}))
    archive, notes = opened(folder / PART)
    assert "wheel_odom" not in archive.streams
    assert "settings next to it are read too: recording_20181202_camera.msg" in notes


def test_folder_that_nobody_may_look_into_is_no_defect(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: Any) -> Any:
        raise PermissionError("no")

    monkeypatch.setattr(os, "listdir", refused)
    archive, _ = opened(folder / PART)
    assert "stereo_left" in archive.streams and not archive.defects.total


def test_surface_model_next_to_single_log_is_left_alone(folder: Path) -> None:
    (folder / "some_dsm.tif").write_bytes(b"no picture")
    archive, _ = opened(folder / PART)
    assert not archive.defects.total
