"""Frames of settings that are no tree: each fault is told for what it is, and the rest hangs on the rover."""

from pathlib import Path
from typing import Any

import pytest
import tiny_sherpatt as tiny
from sherpatt_messages import defects_of

from fieldplay_archive.datasets import open_dataset
from fieldplay_messages.errors import ArchiveError

BODY = "sherpaTT_body"
TURNED, TURNED_BACK = [0.0, 0.0, tiny.ROOT_HALF, tiny.ROOT_HALF], [0.0, 0.0, tiny.ROOT_HALF, -tiny.ROOT_HALF]
SAME = {"translation": [0.0, 0.0, 0.0], "rotation": [0, 0, 0, 1]}


def folder(root: Path, *pairs: tuple[str, str]) -> Path:
    states = [tiny.state(time) for time in tiny.times()]
    tiny.write(root / "sherpa_tt_mcs_Logger_InFuse.msg", tiny.log_of({tiny.ODOMETRY: ("RigidBodyState", states)}))
    rows: dict[Any, Any] = dict.fromkeys(pairs, SAME)
    tiny.write(root / "x_tf.msg", rows)
    return root


@pytest.mark.parametrize(
    ("pairs", "told"),
    [
        ([(BODY, "a"), ("a", "b"), ("b", BODY)], "got a loop, as there is sherpa_tt_body -> a -> b;"),
        ([(BODY, "a"), (BODY, "b"), ("b", "a")], "got a second one: a hangs on sherpa_tt_body already"),
        ([(BODY, "a"), ("a", "a")], "got one that is its own parent"),
    ],
)
def test_what_makes_frames_no_tree_is_a_defect(pairs: list[tuple[str, str]], told: str, tmp_path: Path) -> None:
    (defect,) = defects_of(folder(tmp_path, *pairs))
    assert defect.kind == "unreadable_settings" and told in defect.message


@pytest.mark.parametrize(
    ("back", "told", "stays"),
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
def test_a_pair_in_both_directions_is_a_defect_and_one_counts_if_they_agree(
    back: Any, told: str, stays: tuple[str, ...], tmp_path: Path
) -> None:
    root = folder(tmp_path, (BODY, "b"), ("b", "c"))
    there = {"translation": [0.0, 0.0, 1.0], "rotation": TURNED}
    tiny.write(root / "x_tf.msg", {(BODY, "a"): there, ("a", BODY): back, (BODY, "b"): SAME, ("b", "c"): SAME})
    (defect,) = defects_of(root)
    pairs = "a -> sherpa_tt_body: expected each pair in one direction, got sherpa_tt_body -> a too, "
    assert (defect.file, defect.message) == ("x_tf.msg", pairs + told)
    with open_dataset(root, "sherpatt", {}) as archive:
        assert archive.spec.tree["sherpa_tt_body"] == (*stays, "b")
        assert archive.spec.tree["b"] == ("c",)


def test_a_pair_in_both_directions_in_two_files_names_both(tmp_path: Path) -> None:
    root = folder(tmp_path, (BODY, "a"))
    tiny.write(root / "y_tf.msg", {("a", BODY): SAME})
    (defect,) = defects_of(root)
    assert defect.file == "y_tf.msg" and "got sherpa_tt_body -> a of x_tf.msg too" in defect.message


def test_frames_of_a_second_root_are_noted_and_no_edge_that_is_in_no_file(tmp_path: Path) -> None:
    with open_dataset(folder(tmp_path, ("a", BODY), ("x", "y")), "sherpatt", {}) as archive:
        notes = [note for note in archive.notes if note.startswith("transforms of the settings")]
        assert archive.spec.tree["sherpa_tt_body"] == ("a",)
    assert len(notes) == 1 and notes[0].endswith("but on another root: x -> y")


def test_settings_alone_are_told_as_settings(tmp_path: Path) -> None:
    path = tiny.write(tmp_path / "x_tf.msg", tiny.FRAMES)
    with pytest.raises(ArchiveError, match="a file of settings with 8 entries, no log"):
        open_dataset(path, "sherpatt", {})
