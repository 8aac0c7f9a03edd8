"""Paths that grow, as messages: each holds the poses so far, and those that differ by a pose share their bytes."""

from collections.abc import Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

from fieldplay.messages.cdr_layout import Layout, layout_of
from fieldplay.messages.encoders import set_axes, set_stamp
from fieldplay.messages.records import Paths, Pose
from fieldplay.streams.payloads import BytesLike

PATH = "nav_msgs/msg/Path"
COUNT_SIZE = 4


def path_messages(record: Paths, frame: str) -> list[Sequence[BytesLike]]:
    """Each in two pieces: what ends with the first pose, since the count stands before that, and the other poses."""
    others = [_others(frame, way) for way in record.ways]
    flat, width = [rows.reshape(-1).data for rows in others], _width(frame)
    fronts, places, counts = _fronts(frame, record), record.place.tolist(), record.count.tolist()
    return [
        (front.tobytes(), flat[place][: (count - 1) * width])
        for front, place, count in zip(fronts, places, counts, strict=True)
    ]


@cache
def _layout(frame: str, poses: int) -> Layout:
    frames = {f"poses[{index}].header.frame_id": frame for index in range(poses)}
    return layout_of(PATH, {"header.frame_id": frame, "poses": poses, **frames})


def _width(frame: str) -> int:
    """The bytes of a pose behind another. All but the first have one alignment, as a pose ends with a float64."""
    return len(_layout(frame, 2).template) - len(_layout(frame, 1).template)


def _fronts(frame: str, record: Paths) -> NDArray[np.uint8]:
    """The messages (n, size) up to their first pose."""
    layout = _layout(frame, 1)
    data, rows = layout.rows(len(record))
    set_stamp(rows, "header.stamp", record.stamp_ns)
    for place, way in enumerate(record.ways):
        mine = record.place == place
        part = rows[mine]
        _set_poses(part, 0, way.only(np.zeros(len(part), np.intp)))
        rows[mine] = part
    assert layout.dtype.fields is not None
    end = layout.dtype.fields["poses[0].header.stamp.sec"][1]  # the count stands right before it
    data[:, end - COUNT_SIZE : end] = record.count.astype("<u4").view(np.uint8).reshape(-1, COUNT_SIZE)
    return data


def _others(frame: str, way: Pose) -> NDArray[np.uint8]:
    """All poses (k - 1, size) but the first."""
    data, rows = _layout(frame, 2).rows(len(way) - 1)
    _set_poses(rows, 1, way.only(np.arange(1, len(way))))
    return np.ascontiguousarray(data[:, len(_layout(frame, 1).template) :])


def _set_poses(rows: NDArray[np.void], index: int, way: Pose) -> None:
    path = f"poses[{index}]"
    set_stamp(rows, f"{path}.header.stamp", way.stamp_ns)
    set_axes(rows, f"{path}.pose.position", way.position_m)
    set_axes(rows, f"{path}.pose.orientation", way.orientation_xyzw, "xyzw")
