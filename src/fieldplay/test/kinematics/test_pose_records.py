"""The trail of poses, against a plain walk along the way, pose by pose."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from fieldplay.kinematics.pose_records import (
    PathGrowth,
    PathLimits,
    ThinnedPath,
    extend_path,
)

LIMITS = PathLimits(step_m=1.0, poses=8)


def path_states(lengths: list[float], limits: PathLimits, parts: list[int]) -> tuple[list[list[int]], ThinnedPath]:
    """The rows that each state of the trail holds, when the rows come in some parts."""
    rows = np.arange(len(lengths), dtype=np.int64)
    poses = np.stack([rows, -rows, 0.1 * rows], axis=-1).astype(float)
    path, states = None, []
    for part in np.split(rows, parts):
        if len(part):
            growths, path = extend_path(
                path, limits, stamp_ns=part, poses=poses[part], lengths_m=np.array(lengths)[part]
            )
            states += [state for growth in growths for state in states_of(growth)]
    assert path is not None
    np.testing.assert_array_equal(path.points.poses, poses[path.points.stamp_ns])
    return states, path


def states_of(growth: PathGrowth) -> list[list[int]]:
    stamps: NDArray[np.int64] = growth.points.stamp_ns
    return [stamps[:count].tolist() for count in range(growth.first, len(stamps) + 1)]


def plain_loop(lengths: list[float], limits: PathLimits) -> list[list[int]]:
    """The same, row by row: the first pose of each cell, and from doubled cells on when there would be too many."""
    step, travelled, last, poses, states = limits.step_m, 0.0, -1.0, [], []
    for row, length in enumerate(lengths):
        before, travelled = last, travelled + length
        last = travelled
        while enters_cell(before, travelled, step):
            if len(poses) < limits.poses:
                poses.append((row, before, travelled))
                states.append([pose[0] for pose in poses])
                break
            step *= 2
            poses = [pose for pose in poses if enters_cell(pose[1], pose[2], step)]
    return states


def enters_cell(before: float, now: float, step: float) -> bool:
    return before < 0 or now // step > before // step


@given(
    st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0, 3.0, 40.0]), min_size=1, max_size=120),
    st.integers(2, 9),
    st.lists(st.integers(0, 120), max_size=4),
)
def test_path_equals_plain_loop_for_any_batches(lengths: list[float], poses: int, parts: list[int]) -> None:
    limits = PathLimits(step_m=1.0, poses=poses)
    states, path = path_states(lengths, limits, sorted(parts))
    assert states == plain_loop(lengths, limits)
    assert max(map(len, states)) <= poses
    assert len(path.points.stamp_ns) <= poses


def test_long_path_is_complete_with_few_poses_and_messages() -> None:
    lengths = [0.0, *[0.25] * 40_000]
    states, path = path_states(lengths, PathLimits(step_m=1.0, poses=1000), [100, 5000])
    assert len(states) == 1000 + 3 * 500 + 126  # 10 km: doubled after 1, 2, 4 and 8 km, and then each 16 m
    assert states[-1][:2] == [0, 16 * 4]
    assert len(path.points.stamp_ns) == 626


def test_stationary_robot_produces_single_path_pose() -> None:
    states, _ = path_states([0.0] * 50, LIMITS, [])
    assert states == [[0]]


@pytest.mark.parametrize(("step_m", "poses"), [(0.0, 10), (-1.0, 10), (1.0, 1), (float("nan"), 10)])
def test_invalid_limits_are_refused(step_m: float, poses: int) -> None:
    with pytest.raises(ValueError, match="expected a step"):
        PathLimits(step_m=step_m, poses=poses)
