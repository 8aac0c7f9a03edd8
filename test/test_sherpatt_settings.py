"""Frames of settings that are no tree: each fault is told for what it is, and the rest hangs on the rover."""

from pathlib import Path
from typing import Any

import pytest
import tiny_sherpatt as tiny
from sherpatt_messages import defects_of

from fieldplay_archive.errors import ArchiveError
from fieldplay_player.opening import open_dataset

BODY = "sherpaTT_body"
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


def test_frames_of_a_second_root_are_noted_and_no_edge_that_is_in_no_file(tmp_path: Path) -> None:
    with open_dataset(folder(tmp_path, ("a", BODY), ("x", "y")), "sherpatt", {}) as archive:
        notes = [note for note in archive.notes if note.startswith("transforms of the settings")]
        assert archive.spec.tree["sherpa_tt_body"] == ("a",)
    assert len(notes) == 1 and notes[0].endswith("but on another root: x -> y")


def test_settings_alone_are_told_as_settings(tmp_path: Path) -> None:
    path = tiny.write(tmp_path / "x_tf.msg", tiny.FRAMES)
    with pytest.raises(ArchiveError, match="a file of settings with 8 entries, no log"):
        open_dataset(path, "sherpatt", {})
