import warnings
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from fieldplay.core.errors import ArchiveError
from fieldplay.datasets.registry import dataset_files
from fieldplay.datasets.spec import (
    DatasetSpec,
    build,
    name_from_patterns,
    spec_from_file,
)

GOOD: dict[str, Any] = {
    "name": "rover",
    "title": "A rover",
    "status": "invented",
    "reader": "somewhere.rover",
    "namespace": "rover",
    "detect": [r"imu.*\.csv"],
    "plausible_years": [2000, 2100],
    "streams": [{"id": "imu", "topic": "imu/data_raw", "type": "sensor_msgs/msg/Imu", "frame": "imu_link"}],
    "tables": {"imu": {"files": r"imu.*\.csv", "layouts": [["time", "x"]], "ranges": {"x": [0, 7]}}},
    "parameters": {"unit": {"default": "deg", "choices": ["deg", "rad"], "help": "of the angles"}},
}


def write_description(folder: Path, **changes: Any) -> Path:
    path = folder / "rover.yaml"
    path.write_text(yaml.safe_dump({**GOOD, **changes}))
    return path


def test_description_is_read_with_defaults(tmp_path: Path) -> None:
    spec = spec_from_file(write_description(tmp_path))
    assert (spec.name, spec.plausible_years, spec.streams[0].frame) == ("rover", (2000, 2100), "imu_link")
    assert spec.streams[0].child_frame == ""
    assert spec.tables["imu"].rows_spec().ranges == {"x": (0.0, 7.0)}
    assert spec.cameras == {}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"name": "other"}, r"rover\.yaml\.name: expected 'rover', as the file is called, got 'other'"),
        ({"colour": "red"}, r"rover\.yaml\.colour: there is no such entry; expected one of bag_topics, cameras,"),
        ({"title": 7}, r"rover\.yaml\.title: expected str, got int 7"),
        ({"plausible_years": [2000]}, r"plausible_years: expected 2 entries, got 1"),
        ({"streams": [{"id": "imu"}]}, r"streams\[0\]: expected an entry 'topic', got none"),
        ({"detect": ["imu("]}, r"rover\.yaml: detect: expected a regular expression, got 'imu\('"),
        ({"tables": {"imu": {"files": "[", "layouts": []}}}, r"\.imu: files: expected a regular expression, got '\['"),
        ({"detect": ["a{99999999999999}"]}, r"detect: expected a regular expression, got 'a\{9+\}': the repetition"),
        ({"truth_max_std_m": 10**400}, r"rover\.yaml\.truth_max_std_m: expected float, got int 10000"),
        ({"ignored_files": {"a(": ""}}, r"rover\.yaml: ignored_files: expected a regular expression, got 'a\('"),
        ({"rows": {"cam": {"files": "*"}}}, r"rows\.cam: files: expected a regular expression, got '\*'"),
        (
            {"tables": {"imu": {"files": "a", "layouts": [["time", "x"], ["time"]], "ranges": {"x": [0, 1]}}}},
            r"tables\.imu: ranges: expected a column of all layouts, got 'x'",
        ),
        ({"parameters": {"unit": {"default": "gon", "choices": ["deg"], "help": ""}}}, "'gon' is not among"),
    ],
)  # fmt: skip
def test_error_in_description_names_its_location(changes: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(ArchiveError, match=message):
        spec_from_file(write_description(tmp_path, **changes))


def test_old_entry_name_is_read_with_warning_naming_new_one(tmp_path: Path) -> None:
    table = {"files": r"imu.*\.csv", "layouts": [["time", "x"]], "blanks": True, "called": "the IMU's log"}
    path = write_description(tmp_path, tables={"imu": table}, reader="fieldplay_archive.readers.ameds")
    with pytest.warns(FutureWarning) as warned:
        spec = spec_from_file(path)
    assert spec.reader == "fieldplay.datasets.ameds"
    assert (spec.tables["imu"].whitespace_delimited, spec.tables["imu"].display_name) == (True, "the IMU's log")
    messages = [str(warning.message) for warning in warned]
    assert f"{path}.tables.imu.called: is called 'display_name' now" in messages
    assert f"{path}.reader: 'fieldplay_archive.readers.ameds' is 'fieldplay.datasets.ameds' now" in messages
    assert len(messages) == 3


@pytest.mark.parametrize("shipped", dataset_files().values(), ids=lambda path: path.stem)
def test_shipped_descriptions_use_current_names(shipped: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert build(DatasetSpec, yaml.safe_load(shipped.read_text("utf-8")), shipped.name).name == shipped.stem


@pytest.mark.parametrize("data", [b"name: [", b"\xff\xfe\x00", b"- a list\n", b""])
def test_invalid_description_file_is_error_with_path(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "rover.yaml"
    path.write_bytes(data)
    with pytest.raises(ArchiveError, match=r"rover\.yaml"):
        spec_from_file(path)


def test_user_descriptions_override_installed_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed = tmp_path / "prefix" / "share" / "fieldplay_bringup" / "config" / "datasets"
    own = tmp_path / "own"
    for folder, names in ((installed, ("rover", "boat")), (own, ("rover",))):
        folder.mkdir(parents=True)
        for name in names:
            (folder / f"{name}.yaml").write_text("")
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(tmp_path / "prefix"))
    monkeypatch.setenv("FIELDPLAY_DATASETS", str(own))
    files = dataset_files()
    assert (files["rover"], files["boat"]) == (own / "rover.yaml", installed / "boat.yaml")
    assert "ameds" in files


PLAIN = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
TREES = st.recursive(PLAIN, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner))


@given(TREES)
def test_arbitrary_data_is_read_or_rejected_with_location(data: object) -> None:
    with pytest.raises(ArchiveError, match=r"^here"):
        build(DatasetSpec, data, "here")


@pytest.mark.parametrize(
    ("files", "folder", "name"),
    [
        (r"GnssImu.*\.csv", "", "GnssImu*.csv"),
        (r"MainCam_.*\.jpe?g", "", "MainCam_*.jpg"),
        (r"odometry.*\.(log|txt)", "", "odometry*.log"),
        (r"(sequence_?\d+_)?(gt|ground_?truth)\.txt", "", "gt.txt"),
        (r"ida_sc_coordinates\.\w+", "", "ida_sc_coordinates.*"),
        (r".*_?012\.txt", "", "*012.txt"),
        (r"RangeBearingQAsciiData\.txt|matlab.*Laser_?H.*\.txt", "LaserHorizontal|matlabAsciiLaserData",
         "LaserHorizontal/RangeBearingQAsciiData.txt"),
    ],
)  # fmt: skip
def test_pattern_is_shown_as_its_first_matching_name(files: str, folder: str, name: str) -> None:
    assert name_from_patterns(files, folder) == name
