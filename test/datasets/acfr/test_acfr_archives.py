"""Archives of ACFR as wholes: how they are recognised, what may be missing, and forms that give the same messages."""

import json
import shutil
import zipfile
from pathlib import Path
from typing import Any

import pytest

from fieldplay.cli.main import main
from fieldplay.core.errors import ArchiveError
from fieldplay.datasets.acfr.report_sets import sets_of
from fieldplay.datasets.registry import detect_spec, open_dataset
from fieldplay.topics.selection import Selection
from fieldplay_testing.tiny_ameds import TinyAmeds
from support import tiny_acfr as tiny
from support.archive_messages import messages_of
from support.tiny_acfr import LASERS, TinyAcfr
from support.tiny_rosario import TinyRosario
from support.written import numbers

SMALL = Selection(topics="laser_port|nav|payload|radar/points")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> TinyAcfr:
    """A dataset that no test changes."""
    archive = TinyAcfr(tmp_path_factory.mktemp("acfr") / "29-DynamicDayTriangleClear")
    archive.write_all()
    return archive


def plain(result: dict[str, list[tuple[int, Any]]]) -> dict[str, list[tuple[int, str]]]:
    """All numbers as texts, as NaN is no number's equal."""
    return {topic: [(stamp, repr(numbers(message))) for stamp, message in rows] for topic, rows in result.items()}


def test_whole_dataset_is_recognised_and_has_no_defects(whole: TinyAcfr, capsys: pytest.CaptureFixture[str]) -> None:
    assert detect_spec(whole.root).name == "acfr"
    assert main(["check", str(whole.root), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["defects"] == []
    with open_dataset(whole.root) as archive:
        others = {stream.id for stream in archive.spec.streams if stream.id.endswith("scan_full")} | {
            "reference_objects"
        }
        assert list(archive.streams) == [stream.id for stream in archive.spec.streams if stream.id not in others]


@pytest.mark.parametrize(("star", "separator", "end"), [("", "\t", "\r\n"), ("* ", ", ", "\n"), (" *", "  ", " \n")])
def test_all_forms_of_lines_give_same_messages(
    whole: TinyAcfr, tmp_path: Path, star: str, separator: str, end: str
) -> None:
    other = TinyAcfr(tmp_path / whole.root.name, star=star, separator=separator, end=end)
    other.write_lasers()
    other.write_nav()
    other.write_radar()
    other.write_payload()
    assert plain(messages_of(other.root, SMALL)) == plain(messages_of(whole.root, SMALL))


def test_zip_gives_same_messages_as_its_folder(whole: TinyAcfr, tmp_path: Path) -> None:
    path = tmp_path / f"{whole.root.name}.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name in sorted(whole.root.rglob("*.txt")):
            file.write(name, name.relative_to(whole.root.parent))
    assert plain(messages_of(path, SMALL)) == plain(messages_of(whole.root, SMALL))


def test_calibration_set_plays_its_lasers_from_copies_for_matlab(tmp_path: Path) -> None:
    logs, copies = TinyAcfr(tmp_path / "logs"), TinyAcfr(tmp_path / "VisualCameraCalibration")
    logs.write_lasers()
    copies.write_matlab_lasers()
    lasers = Selection(topics="laser_.*")
    assert detect_spec(copies.root).name == "acfr"
    assert plain(messages_of(copies.root, lasers)) == plain(messages_of(logs.root, lasers))
    with open_dataset(copies.root) as archive:
        missing = [defect.stream for defect in archive.missing]
        assert not {"nav", "radar_ranges", "radar_spectrum", "payload"} & set(missing)


def test_copies_next_to_logs_are_ignored(tmp_path: Path) -> None:
    archive = TinyAcfr(tmp_path / "VisualCameraCalibration")
    archive.write_lasers()
    archive.write_matlab_lasers()
    messages = messages_of(archive.root, Selection(topics="laser_.*"))
    assert [len(messages[f"laser_{name}/scan"]) for name in ("horizontal", "vertical", "port", "starboard")] == [75] * 4
    with open_dataset(archive.root) as opened:
        assert sum("copies for Matlab, not read" in note for note in opened.notes) == 4


def test_what_is_missing_is_reported_and_rest_plays(whole: TinyAcfr, tmp_path: Path) -> None:
    root = tmp_path / "29-DynamicDayTriangleClear"
    shutil.copytree(whole.root, root, ignore=shutil.ignore_patterns("Nav", "LaserPort", "Video*", "RadarSpectrum"))
    with open_dataset(root) as archive:
        missing = {defect.stream: defect.file for defect in archive.missing}
    assert missing["laser_port"] == "LaserPort/RangeBearingQAsciiData.txt"
    assert missing["nav"] == "Nav/NavQAsciiData.txt"
    assert missing["visual_camera_image_raw"] == "VideoVisual" and missing["ir_camera_image_raw"] == "VideoIR"
    assert not {"visual_log", "visual_images"} & set(missing)
    assert {"laser_port", "nav", "radar_spectrum"} <= set(missing)
    assert not {"laser_vertical", "payload", "radar_ranges"} & set(missing)
    assert len(messages_of(root)["laser_vertical/scan"]) == 75


def test_set_for_range_sensors_needs_no_spectrum_and_static_one_no_payload(tmp_path: Path) -> None:
    archive = TinyAcfr(tmp_path / "RangeSensorsCalibration")
    archive.write_lasers()
    archive.write_nav()
    archive.write_radar()
    with open_dataset(archive.root) as opened:
        missing = {defect.stream for defect in opened.missing}
    assert not {"radar_spectrum", "payload", "nav", *(f"laser_{name}" for name in ("port", "starboard"))} & missing


def test_several_datasets_in_one_folder_are_refused(tmp_path: Path) -> None:
    for name in ("01-StaticClear-Video10fps", "02-StaticClear-Video15fps"):
        TinyAcfr(tmp_path / name, seconds=0.1).write_lasers()
    with pytest.raises(ArchiveError, match=r"expected one dataset, got 2; name one of .*01-StaticClear.*, .*02-Static"):
        open_dataset(tmp_path)


def test_folder_of_all_sets_is_answered_with_command_that_takes_them(tmp_path: Path) -> None:
    for number in range(1, 8):
        TinyAcfr(tmp_path / f"{number:02d}-Static", seconds=0.1).write_lasers()
    with pytest.raises(ArchiveError) as caught:
        open_dataset(tmp_path)
    text = str(caught.value)
    assert "05-Static and 2 more, or take all of them with: fieldplay batch" in text and "06-Static" not in text
    assert text.endswith(f"fieldplay batch '{tmp_path}/*' --do check,report --out DIR")


@pytest.mark.parametrize("folder", [*LASERS, "RadarRangeBearing", "Nav", "RadarSpectrum", "Payload", "VideoIR"])
def test_one_sensor_alone_is_recognised_even_if_its_log_is_damaged(
    whole: TinyAcfr, tmp_path: Path, folder: str
) -> None:
    shutil.copytree(whole.root / folder, tmp_path / "set" / folder)
    assert detect_spec(tmp_path / "set").name == "acfr"
    for log in (tmp_path / "set").rglob("*.txt"):
        log.write_bytes(b"\x00" * 1000)
    assert detect_spec(tmp_path / "set").name == "acfr"
    assert main(["check", str(tmp_path / "set")]) == 2 if folder != "VideoIR" else 1


def test_log_in_no_folder_is_recognised_by_its_lines(tmp_path: Path) -> None:
    TinyAcfr(tmp_path / "a").write("NavQAsciiData.txt", [f"*{tiny.START}.5 NAV_DATA 1 2 3\n"])
    assert detect_spec(tmp_path / "a").name == "acfr"
    TinyAcfr(tmp_path / "b").write("NavQAsciiData.txt", ["a diary\n", "of somebody\n"])
    with pytest.raises(ArchiveError, match="no dataset that fieldplay knows"):
        detect_spec(tmp_path / "b")


def test_other_datasets_and_other_folders_are_not_taken_for_one(tmp_path: Path) -> None:
    rosario, ameds = TinyRosario(tmp_path / "sequence01", seconds=1), TinyAmeds(tmp_path / "ameds")
    rosario.write_all()
    ameds.write_all()
    assert detect_spec(rosario.root).name == "rosario"
    assert detect_spec(ameds.root).name == "ameds"
    (tmp_path / "other" / "Images").mkdir(parents=True)
    for name in ("log.txt", "Images/Image1-0.bmp", "PayloadData.txt", "VideoLogAscii.txt"):
        (tmp_path / "other" / name).write_text("1 2 3\n")
    with pytest.raises(ArchiveError, match="no dataset that fieldplay knows"):
        detect_spec(tmp_path / "other")


def test_recording_has_name_area_condition_and_notes(whole: TinyAcfr, tmp_path: Path) -> None:
    with open_dataset(whole.root) as archive:
        assert archive.recording == {
            "name": "29-DynamicDayTriangleClear",
            "area": "open area (triangle)",
            "condition": "clear",
        }
        sets = {known.number: known for known in sets_of(archive.spec.constants)}
    assert (sets[23].condition, sets[23].notes) == ("clear", "reflectors, human")
    assert sets[23].recording["area"] == "static scene"
    other = TinyAcfr(tmp_path / "RangeSensorsCalibration")
    other.write_lasers()
    with open_dataset(other.root) as archive:
        assert archive.recording == {
            "name": "RangeSensorsCalibration",
            "notes": "calibration: lasers, radar ranges, navigation",
        }
