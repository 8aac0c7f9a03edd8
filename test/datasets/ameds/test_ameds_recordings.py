"""Several recordings of AMEDS as one archive, zips as downloaded among them, and which of the paper's they are."""

import re
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from fieldplay.cli.main import main
from fieldplay.datasets.registry import open_dataset, spec_of_dataset
from fieldplay.topics.selection import Selection
from fieldplay.topics.topic_checks import check, check_settings
from fieldplay_testing.tiny_ameds import START
from support.broken import counts_of

LATER = START + 4000


def later(source: Path, target: Path) -> Path:
    """The same recording some time after, with other times in names and tables."""
    target.mkdir(parents=True)
    for path in source.iterdir():
        own = target / path.name.replace(str(START), str(LATER)).replace(str(START + 1), str(LATER + 1))
        if path.suffix == ".csv":
            own.write_text(re.sub(rf"\b{START // 10}(\d)", rf"{LATER // 10}\1", path.read_text()))
        else:
            shutil.copyfile(path, own)
    return target


def zipped(folder: Path, path: Path) -> Path:
    with zipfile.ZipFile(path, "w") as target:
        for file in sorted(folder.iterdir()):
            target.write(file, f"{folder.name}/{file.name}")
    return path


@pytest.fixture(scope="module")
def traverses(few_images: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Two recordings as unpacked, which no test changes."""
    (first,) = few_images.iterdir()
    return first, later(first, tmp_path_factory.mktemp("later") / "Traverse_6")


@pytest.fixture(scope="module")
def counts(traverses: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> dict[str, int]:
    """Messages by topic of both recordings together."""
    bag = tmp_path_factory.mktemp("bag") / "bag"
    assert main(["convert", str(traverses[0]), str(bag)]) == 0
    return {topic: count * (1 if "tf_static" in topic else 2) for topic, count in counts_of(bag).items()}


def both_zips(traverses: tuple[Path, Path], root: Path) -> None:
    for folder in traverses:
        zipped(folder, root / f"{folder.name}.zip")


def a_zip_and_a_folder(traverses: tuple[Path, Path], root: Path) -> None:
    shutil.copytree(traverses[0], root / traverses[0].name)
    zipped(traverses[1], root / "download.zip")


def zips_and_one_unpacked(traverses: tuple[Path, Path], root: Path) -> None:
    both_zips(traverses, root)
    shutil.copytree(traverses[1], root / "unpacked" / traverses[1].name)


@pytest.mark.parametrize("make", [both_zips, a_zip_and_a_folder, zips_and_one_unpacked])
def test_recordings_in_one_folder_play_as_one_archive_as_downloaded(
    make: Callable[[tuple[Path, Path], Path], None],
    traverses: tuple[Path, Path],
    counts: dict[str, int],
    tmp_path: Path,
) -> None:
    root = tmp_path / "etna"
    root.mkdir()
    make(traverses, root)
    assert main(["convert", str(root), str(tmp_path / "bag"), "--strict"]) == 0
    assert counts_of(tmp_path / "bag") == counts
    with open_dataset(root) as archive:
        assert archive.spec.name == "ameds"
        assert check(archive, Selection()) == []
        twice = [note for note in archive.notes if note.endswith("also unpacked next to it; not read")]
        assert [note.partition(":")[0] for note in twice] == ["Traverse_6.zip"] * (make is zips_and_one_unpacked)
        assert archive.recording["name"] == "traverse_5, traverse_6"


def notes_about_recordings(root: Path) -> list[str]:
    with open_dataset(root) as archive:
        check_settings(archive)
        return [note for note in archive.notes if "of the paper" in note]


def test_each_recording_is_named_with_what_it_is_short_of(traverses: tuple[Path, Path], tmp_path: Path) -> None:
    both_zips(traverses, tmp_path)
    fifth, sixth, missing = notes_about_recordings(tmp_path)
    assert fifth == (
        "traverse_5 of the paper: 134.1 m, up to 6.5 m higher or lower, 9:31 min, 0.37 m/s, with RTK; "
        "this is 2.0 s of 571 s: a part of it, or cut (Traverse_5.zip/Traverse_5)"
    )
    assert sixth.startswith("traverse_6 of the paper: 191.7 m") and "without RTK" in sixth
    expected = ", ".join(f"traverse_{number}" for number in (0, 1, 2, 3, 4, 7, 8))
    assert missing == f"recordings of the paper that are not here: {expected}"


def test_recording_without_name_is_guessed_by_its_length_alone(traverses: tuple[Path, Path], tmp_path: Path) -> None:
    root = tmp_path / "x"
    root.mkdir()
    for length_s, result in ((2, ""), (106, "; by its 105 s it may be rock_picking_1")):
        rows = "".join(f"{START + row},0,0,0,0,0,0,0\n" for row in range(length_s))
        (root / "MainArmJointAngles.csv").write_text(rows)
        assert notes_about_recordings(root) == [
            f"recording of the paper: unknown, as no file name has its number{result}"
        ]


def test_idle_times_between_recordings_are_skipped() -> None:
    assert 0 < spec_of_dataset("ameds").skip_gaps_s <= 60


def test_recordings_are_those_of_paper() -> None:
    known = spec_of_dataset("ameds").constants["recordings"]
    traverses = [each for name, each in known.items() if name.startswith("traverse")]
    assert sum(each["length_m"] for each in traverses) == pytest.approx(2054.8, abs=0.2)
    assert sum(each["seconds"] for each in traverses) == 99 * 60 + 9
    assert {name: each["seconds"] for name, each in known.items() if name.startswith("rock")} == {
        "rock_picking_0": 141, "rock_picking_1": 105,
    }  # fmt: skip
