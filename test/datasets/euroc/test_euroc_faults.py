"""One fault at a time in a sequence of EuRoC: it is reported with its place, and everything else plays."""

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from fieldplay.cli.main import main
from support import tiny_euroc as tiny
from support.archive_messages import messages_of
from support.tiny_euroc import TinyEuroc

STAMPS = tiny.camera_stamps()
IMU, CAM0, SENSOR = "mav0/imu0/data.csv", "mav0/cam0/data.csv", "mav0/cam0/sensor.yaml"


@dataclass(frozen=True)
class Fault:
    """What is spoilt, the defect that follows, and the counts of topics that change."""

    spoil: Callable[[Path], object]
    file: str
    row: int | None
    kind: str
    message: str
    counts: dict[str, int]


def edit(name: str, old: str, new: str) -> Callable[[Path], object]:
    def spoil(root: Path) -> None:
        path = root / name
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new, 1))

    return spoil


def images(count: int) -> dict[str, int]:
    return {"cam0/image_raw/compressed": count, "cam0/camera_info": count}


FAULTS = {
    "a missing image": Fault(
        lambda root: (root / f"mav0/cam0/data/{STAMPS[2]}.png").unlink(),
        CAM0, 4, "missing_file", f"expected a file for the time of line 4 ({STAMPS[2]}.png), got none", images(5),
    ),
    "a cut image": Fault(
        lambda root: (root / f"mav0/cam0/data/{STAMPS[2]}.png").write_bytes(tiny.image(1)[:700]),
        f"mav0/cam0/data/{STAMPS[2]}.png", None, "damaged_picture", "", images(5),
    ),
    "an image that no line names": Fault(
        edit(CAM0, f"{STAMPS[5]},{STAMPS[5]}.png", ""),
        f"mav0/cam0/data/{STAMPS[5]}.png", None, "no_time", "expected a line with its time", images(5),
    ),
    "a line without a time": Fault(
        edit(CAM0, f"{STAMPS[3]},", "late,"), CAM0, 5, "not_a_time", "expected a time, got 'late", images(5)
    ),
    "a short row of the IMU": Fault(
        edit(IMU, ",-0.5,0.25,9.001,", ",-0.5,9.001,"), IMU, 3, "short_row", "expected 7 columns, got 6",
        {"imu/data_raw": tiny.ROWS - 1},
    ),
    "a text among the IMU's numbers": Fault(
        edit(IMU, "9.002", "x"), IMU, 4, "not_a_number", "column a_RS_S_x: expected a number, got 'x'",
        {"imu/data_raw": tiny.ROWS - 1},
    ),
    "intrinsics of another length": Fault(
        edit(SENSOR, "intrinsics: [458.5, ", "intrinsics: ["), SENSOR, None, "bad_value",
        "intrinsics: expected 4 numbers", {"cam0/camera_info": 0},
    ),
    "an unknown distortion": Fault(
        edit(SENSOR, "radial-tangential", "magic"), SENSOR, None, "bad_value", "distortion_model: expected radtan",
        {"cam0/camera_info": 0},
    ),
    "a transform that is none": Fault(
        edit(SENSOR, str(tiny.T_BS["cam0"][1][0]), "9.9"), SENSOR, None, "bad_value", "T_BS: expected a rotation", {},
    ),
    "a calibration that is no YAML": Fault(
        lambda root: (root / SENSOR).write_text("a: [1,\n"), SENSOR, None, "unreadable_calibration", "expected YAML",
        {"cam0/camera_info": 0},
    ),
    "truth without rows": Fault(
        lambda root: (root / "mav0/state_groundtruth_estimate0/data.csv").write_text(tiny.TRUTH_HEADER + "\n"),
        "mav0/state_groundtruth_estimate0/data.csv", None, "unreadable_table", "expected rows of numbers, got none",
        {"ground_truth/odom": 0, "/tf": 0},
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return TinyEuroc(tmp_path_factory.mktemp("euroc") / "V1_01_easy").write_all().root


@pytest.fixture(scope="module")
def counts(written: Path) -> dict[str, int]:
    return {topic: len(rows) for topic, rows in messages_of(written).items()}


def check(capsys: pytest.CaptureFixture[str], root: Path) -> tuple[int, dict[str, object]]:
    code = main(["check", str(root), "--json"])
    return code, json.loads(capsys.readouterr().out)


def test_intact_sequence_has_no_defects(written: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, actual = check(capsys, written)
    assert (code, actual["dataset"], actual["defects"]) == (0, "euroc", [])


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_fault_is_reported_with_its_place_and_rest_plays(
    fault: Fault, written: Path, counts: dict[str, int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = Path(shutil.copytree(written, tmp_path / written.name))
    fault.spoil(root)
    code, actual = check(capsys, root)
    assert (code, actual["playable"]) == (1, True)
    defects = [each for each in actual["defects"] if each["kind"] != "gap"]  # type: ignore[attr-defined]
    assert [(each["file"], each["row"], each["kind"]) for each in defects] == [(fault.file, fault.row, fault.kind)]
    assert fault.message in defects[0]["message"]
    after = {topic: len(rows) for topic, rows in messages_of(root).items()}
    assert {topic: after.get(topic, 0) for topic in counts} == {**counts, **fault.counts}


def test_missing_calibration_is_a_note_and_images_play(written: Path, tmp_path: Path) -> None:
    root = Path(shutil.copytree(written, tmp_path / written.name))
    for name in ("cam0", "cam1", "imu0"):
        (root / "mav0" / name / "sensor.yaml").unlink()
    messages = messages_of(root)
    assert len(messages["cam0/image_raw/compressed"]) == tiny.PAIRS
    assert "cam0/camera_info" not in messages
    assert list(messages["imu/data_raw"][0][1].linear_acceleration_covariance) == [0.0] * 9
    assert main(["check", str(root)]) == 0
    assert main(["check", str(root), "--complete"]) == 1
