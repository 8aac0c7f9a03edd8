"""The objects of the static scene (Table 1 of the report) as markers in the map, placed by the vehicle's first pose."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldplay.datasets.acfr.sets import KnownSet
from fieldplay.datasets.archive import Archive
from fieldplay.geometry.transforms import rotation_from_quaternion
from fieldplay.messages.records import Markers, Odometry
from fieldplay.streams.stream import HeldStream

STREAM, ODOMETRY = "reference_objects", "nav_odom"
SHAPES = {"cube": 1, "sphere": 2, "cylinder": 3}  # types of visualization_msgs/Marker
THERE_RGBA, ABSENT_RGBA = (0.0, 0.62, 0.45, 0.8), (0.5, 0.5, 0.5, 0.25)

Floats = NDArray[np.float64]


def reference_objects(archive: Archive, known: KnownSet | None) -> HeldStream | None:
    """The markers of a set of the static scene, at the navigation's first time; None for other sets.

    Objects that other sets have are there too, grey and nearly transparent.
    """
    if known is None or not known.is_static:
        return None
    found = _first_pose(archive)
    if found is None:
        text = "there is no navigation to place the vehicle in the map"
        archive.notes.append(f"{STREAM}: the objects of the static scene are not published, as {text}")
        return None
    stamp_ns, position, yaw_rad = found
    constants = archive.spec.constants
    entries: Mapping[str, Mapping[str, Any]] = constants["reference_objects"]
    vehicle = constants["scene_vehicle"]
    in_base = np.array([_in_base(entry, vehicle) for entry in entries.values()])
    cos, sin = np.cos(yaw_rad), np.sin(yaw_rad)
    turn = np.array([[cos, -sin, 0.0], [sin, cos, 0.0], [0.0, 0.0, 1.0]])
    facing = np.array([0.0, 0.0, np.sin(yaw_rad / 2), np.cos(yaw_rad / 2)])
    is_there = [known.number in entry.get("sets", (known.number,)) for entry in entries.values()]
    markers = Markers(
        stamp_ns=np.array([stamp_ns], np.int64),
        names=tuple(entries),
        shapes=tuple(SHAPES[entry["shape"]] for entry in entries.values()),
        position_m=(in_base @ turn.T + position)[None],
        orientation_xyzw=np.broadcast_to(facing, (1, len(entries), 4)),
        size_m=np.array([[_size(entry) for entry in entries.values()]]),
        colour_rgba=np.array([[THERE_RGBA if there else ABSENT_RGBA for there in is_there]]),
    )
    return HeldStream(markers)


def _in_base(entry: Mapping[str, Any], vehicle: Mapping[str, float]) -> tuple[float, float, float]:
    """The middle of an object in base_link, which is level and looks along the scene's y."""
    middle = (entry.get("bottom", 0.0) + entry["top"]) / 2
    return entry["y"] - vehicle["y"], vehicle["x"] - entry["x"], middle - vehicle["base_height"]


def _size(entry: Mapping[str, Any]) -> tuple[float, float, float]:
    """The extents along the vehicle's axes: the scene's y is ahead, its x across."""
    across, ahead = entry["size"]
    return ahead, across, entry["top"] - entry.get("bottom", 0.0)


def _first_pose(archive: Archive) -> tuple[int, Floats, float] | None:
    """Time, position (3,) and yaw of base_link in the map in the first row of the navigation."""
    stream = archive.streams.get(ODOMETRY)
    if stream is None or not stream.spans:
        return None
    record = stream.load(min(range(len(stream.spans)), key=lambda index: stream.spans[index].first_ns))
    if not isinstance(record, Odometry) or not len(record):
        return None
    ahead = rotation_from_quaternion(record.orientation_xyzw[0])[:, 0]
    return int(record.stamp_ns[0]), record.position_m[0], float(np.arctan2(ahead[1], ahead[0]))
