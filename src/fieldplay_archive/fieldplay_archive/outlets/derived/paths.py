"""A growing Path as its messages: each holds the poses so far, and those that differ by a pose share their bytes."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fieldplay_archive.outlets.derived.parts import Bytes, Stamps
from fieldplay_kinematics.planar_motion import quaternion_from_yaw
from fieldplay_kinematics.trail import PLANAR, Growth, Kept
from fieldplay_messages.cdr.encoders import set_axes, set_stamp
from fieldplay_messages.cdr.layout import Layout, layout_of
from fieldplay_messages.feeds.feed import Pieces
from fieldplay_messages.feeds.payloads import Payloads, PiecePayloads

PATH = "nav_msgs/msg/Path"
COUNT_SIZE = 4


@dataclass(frozen=True, eq=False)
class PathMessages:
    """SpanMessages of paths."""

    messages: Sequence[Pieces]
    heavy: bool = False

    def payloads(self, rows: NDArray[np.intp]) -> tuple[Payloads, NDArray[np.bool_]]:
        return PiecePayloads([self.messages[row] for row in rows]), np.ones(len(rows), bool)


def path_messages(frame: str, growths: Sequence[Growth]) -> tuple[Stamps, PathMessages]:
    """The times of the messages (m,), each that of its newest pose, and the messages."""
    stamps = [growth.stamp_ns for growth in growths]
    messages = [pieces for growth in growths for pieces in _messages(frame, growth)]
    return np.concatenate([np.zeros(0, np.int64), *stamps]), PathMessages(messages)


def _messages(frame: str, growth: Growth) -> list[Pieces]:
    """Each in two pieces: what ends with the first pose, since the count stands before that, and the other poses."""
    kept = growth.kept
    fronts, others = _fronts(frame, growth), _others(frame, kept)
    flat, width = others.reshape(-1).data, others.shape[1]
    counts = range(growth.first, len(kept.stamp_ns) + 1)
    return [(front.tobytes(), flat[: (count - 1) * width]) for front, count in zip(fronts, counts, strict=True)]


def _layout(frame: str, poses: int) -> Layout:
    frames = {f"poses[{index}].header.frame_id": frame for index in range(poses)}
    return layout_of(PATH, {"header.frame_id": frame, "poses": poses, **frames})


def _offset(layout: Layout, path: str) -> int:
    """Where a number lies in its message."""
    assert layout.dtype.fields is not None
    return int(layout.dtype.fields[path][1])


def _fronts(frame: str, growth: Growth) -> Bytes:
    """The messages (m, size) up to their first pose."""
    kept, count = growth.kept, len(growth.stamp_ns)
    layout = _layout(frame, 1)
    data, rows = layout.rows(count)
    set_stamp(rows, "header.stamp", growth.stamp_ns)
    _set_poses(rows, 0, kept.only(np.zeros(count, np.int64)))
    end = _offset(layout, "poses[0].header.stamp.sec")  # the count stands right before it
    counts = np.arange(growth.first, growth.first + count).astype("<u4")
    data[:, end - COUNT_SIZE : end] = counts.view(np.uint8).reshape(count, COUNT_SIZE)
    return data


def _others(frame: str, kept: Kept) -> Bytes:
    """All poses (k - 1, size) but the first. All but the first have one alignment, as a pose ends with a float64."""
    data, rows = _layout(frame, 2).rows(len(kept.stamp_ns) - 1)
    _set_poses(rows, 1, kept.only(slice(1, None)))
    return np.ascontiguousarray(data[:, len(_layout(frame, 1).template) :])


def _set_poses(rows: NDArray[np.void], index: int, kept: Kept) -> None:
    path, poses = f"poses[{index}]", kept.poses
    set_stamp(rows, f"{path}.header.stamp", kept.stamp_ns)
    if poses.shape[1] == PLANAR:
        level = np.zeros((len(poses), 1))
        poses = np.concatenate([poses[:, :2], level, quaternion_from_yaw(poses[:, 2])], axis=-1)
    set_axes(rows, f"{path}.pose.position", poses[:, :3])
    set_axes(rows, f"{path}.pose.orientation", poses[:, 3:], "xyzw")
