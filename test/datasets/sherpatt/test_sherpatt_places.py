"""Where a fault in a log is, in fields that a program can use."""

from pathlib import Path

import msgpack
import pytest

from fieldplay_testing import tiny_sherpatt as tiny
from support.broken import checked

CAMERA = "/task.camera"


def test_location_of_defect_is_in_fields_of_its_own(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    broken = tiny.frame(tiny.START_US + tiny.STEP_US, rows=0)
    data = msgpack.packb(broken)
    path = tiny.write(tmp_path / "x_Logger.msg", tiny.log_of({CAMERA: ("Frame", [tiny.frame(tiny.START_US), broken])}))
    _, issues = checked(capsys, path)
    (defect,) = issues["defects"]
    assert (defect["kind"], defect["file"], defect["stream"]) == ("damaged_picture", "x_Logger.msg", "task_camera")
    assert (defect["sample"], defect["row"]) == (1, None)
    assert path.read_bytes()[defect["byte"] :].startswith(data)


def test_log_that_is_cut_off_gives_byte(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    samples = [tiny.state(time) for time in tiny.times()]
    path = tiny.write(tmp_path / "x_Logger.msg", tiny.log_of({"/task.pose": ("RigidBodyState", samples)}))
    path.write_bytes(path.read_bytes()[:-600])
    _, issues = checked(capsys, path)
    (cut,) = (defect for defect in issues["defects"] if defect["kind"] == "truncated_log")
    assert cut["file"] == "x_Logger.msg" and f"near byte {cut['byte']}:" in cut["message"]
