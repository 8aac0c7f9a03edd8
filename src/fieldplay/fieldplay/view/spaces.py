"""What is drawn in space: transforms, poses, ways, clouds, scans, cameras and their pictures."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import rerun as rr
from numpy.typing import NDArray

from fieldplay.core.colour_map import colour_map
from fieldplay.geometry.transforms import rotation_from_quaternion
from fieldplay.messages import records
from fieldplay.projection.points import points_from_scan
from fieldplay.recording.transform_source import LARGEST, LEAST_QUATERNION
from fieldplay.view.entry import Entry, split

ARROW_M = 0.5
POINT_UI, WAY_UI = -1.5, -1.5  # negative radii are points of the screen
IMAGE_PLANE_M = 0.5
MOST_OF_A_WAY = 1000  # poses that are drawn of a path; each message has all of it again
WAY_STEP_M = 0.05
COLOURED_BY = ("intensity", "intensities", "reflectivity")
PERCENTILES = (2, 98)
THINNED = 2000  # points that the range of colours is taken from

Array = NDArray[np.float64]


def transforms(record: records.Transforms, parent_of: dict[str, str]) -> Iterator[tuple[str, Entry]]:
    """Each child with its transforms, rows that are none left out; `parent_of` has the frames that are wanted."""
    for index, (parent, child) in enumerate(zip(record.parents, record.children, strict=True)):
        if parent_of.get(child) != parent:
            continue
        places, turns = record.translation_m[:, index], record.rotation_xyzw[:, index]
        good = are_transforms(places, turns)
        if record.known is not None:
            good &= record.known[:, index]
        rows = np.flatnonzero(good)
        columns = rr.Transform3D.columns(
            translation=places[rows].astype(np.float32),
            quaternion=turns[rows].astype(np.float32),
            parent_frame=[parent] * len(rows),
            child_frame=[child] * len(rows),
        )
        yield child, Entry(columns=columns, entity=rr.new_entity_path(["tf", child]), rows=rows)


def are_transforms(places: Array, turns: Array) -> NDArray[np.bool_]:
    """Which places (n, 3) and quaternions (n, 4) are such (n,)."""
    numbers = np.concatenate([places, turns], axis=1)
    good: NDArray[np.bool_] = (np.abs(numbers) < LARGEST).all(axis=1)
    good &= np.abs(turns).max(axis=1) > LEAST_QUATERNION
    return good


def poses(record: records.Pose | records.Odometry) -> Iterator[Entry]:
    """An arrow forwards at each place; a point where no orientation is told."""
    yield _arrows(record.position_m[:, None], record.orientation_xyzw[:, None])


def pose_lists(record: records.Poses) -> Iterator[Entry]:
    """All poses of a message."""
    yield _arrows(record.position_m, record.orientation_xyzw)


def _arrows(places: Array, turns: Array) -> Entry:
    """Places (n, k, 3) with quaternions (n, k, 4)."""
    known = np.isfinite(places).all(axis=2)
    has_turn = np.isfinite(turns).all(axis=2) & (np.abs(turns).max(axis=2, initial=0) > LEAST_QUATERNION)
    usable = np.where(has_turn[..., None], turns, (0.0, 0.0, 0.0, 1.0))
    ahead = rotation_from_quaternion(usable)[..., 0] * np.where(has_turn, ARROW_M, 0.0)[..., None]
    columns = rr.Arrows3D.columns(vectors=ahead[known].astype(np.float32), origins=places[known].astype(np.float32))
    return Entry(columns=split(columns, known.sum(axis=1)), is_placed=True)


class Trail:
    """The way of an odometry as it grows: a piece of it for each step that is long enough to be seen."""

    def __init__(self) -> None:
        self._last: Array | None = None

    def grown(self, record: records.Pose | records.Odometry) -> Iterator[Entry]:
        """The pieces of further poses."""
        rows, strips = [], []
        for row in np.flatnonzero(np.isfinite(record.position_m).all(axis=1)).tolist():
            place = record.position_m[row]
            if self._last is None:
                self._last = place
            elif np.linalg.norm(place - self._last) >= WAY_STEP_M:
                rows.append(row)
                strips.append(np.stack([self._last, place]))
                self._last = place
        if rows:
            columns = rr.LineStrips3D.columns(strips=np.array(strips, np.float32))
            still = (rr.LineStrips3D.from_fields(radii=WAY_UI),)
            yield Entry(columns=columns, below="way", rows=np.array(rows), still=still, is_placed=True)


def paths(record: records.Paths) -> Iterator[Entry]:
    """Each message's way, of a long one some poses, the first and the last among them."""
    strips = []
    for place, count in zip(record.place.tolist(), record.count.tolist(), strict=True):
        way = record.ways[place].position_m[:count]
        chosen = np.unique(np.linspace(0, max(count - 1, 0), min(count, MOST_OF_A_WAY)).astype(int))
        strips.append(np.asarray(way[chosen], np.float32).reshape(-1, 3))
    still = (rr.LineStrips3D.from_fields(radii=WAY_UI),)
    yield Entry(columns=rr.LineStrips3D.columns(strips=strips), still=still, is_placed=True)


def clouds(record: records.Clouds) -> Iterator[Entry]:
    """Points with colours by their own, by intensity, else by height."""
    parts = [_of_cloud(record.load(row)) for row in range(len(record))]
    yield _points(parts)


def _of_cloud(cloud: NDArray[np.void]) -> tuple[NDArray[np.float32], NDArray[np.uint32]]:
    names = cloud.dtype.names or ()
    points = np.stack([np.asarray(cloud[axis], np.float32).reshape(-1) for axis in "xyz"], axis=-1)
    finite = np.isfinite(points).all(axis=1)
    if not finite.all():
        cloud, points = cloud[finite], points[finite]
    if "rgb" in names:
        packed: NDArray[np.uint32] = np.ascontiguousarray(cloud["rgb"]).view(np.uint32).reshape(-1)
        return points, (packed << np.uint32(8)) | np.uint32(255)
    shade = next((name for name in COLOURED_BY if name in names), "")
    return points, colours(np.asarray(cloud[shade], np.float32).reshape(-1) if shade else points[:, 2])


def scans(record: records.LaserScans) -> Iterator[Entry]:
    """The rays that met something, coloured by intensity, else by range."""
    parts = []
    for row in range(len(record)):
        ranges = record.ranges_m[row, : record.count[row]]
        limits = float(record.range_min_m[row]), float(record.range_max_m[row])
        angle, step = float(record.angle_min_rad[row]), float(record.angle_increment_rad[row])
        found = points_from_scan(ranges, angle_min_rad=angle, angle_increment_rad=step, limits_m=limits).points
        parts.append((found.astype(np.float32), colours(np.linalg.norm(found, axis=1))))
    yield _points(parts)


def _points(parts: Sequence[tuple[NDArray[np.float32], NDArray[np.uint32]]]) -> Entry:
    points, shades = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    columns = split(rr.Points3D.columns(positions=points, colors=shades), [len(part) for part, _ in parts])
    return Entry(columns=columns, still=(rr.Points3D.from_fields(radii=POINT_UI),), is_placed=True)


_SHADES = np.insert(colour_map(np.arange(256) / 255.0), 0, 255, axis=1)  # 255 and BGR, the lowest byte first
SHADES: NDArray[np.uint32] = np.ascontiguousarray(_SHADES).view("<u4").reshape(-1)


def colours(values: NDArray[Any]) -> NDArray[np.uint32]:
    """Colours (n,) as red, green, blue and 255 in a number, from the 2nd to the 98th percentile of the values."""
    some = values[:: max(len(values) // THINNED, 1)]
    some = some[np.isfinite(some)]
    low, high = np.percentile(some, PERCENTILES) if len(some) else (0.0, 1.0)
    levels = (np.nan_to_num(values) - values.dtype.type(low)) * values.dtype.type(255 / max(high - low, 1e-12))
    chosen: NDArray[np.uint32] = SHADES[np.clip(levels, 0, 255).astype(np.uint8)]
    return chosen


def cameras(record: records.CameraInfos, plane: str, frame: str) -> Iterator[Entry]:
    """The camera's numbers, with the frame of its pictures' plane."""
    camera, count = record.camera, len(record)
    matrix = np.array([[camera.fx, 0, camera.cx], [0, camera.fy, camera.cy], [0, 0, 1]], np.float32)
    columns = rr.Pinhole.columns(
        image_from_camera=np.tile(matrix, (count, 1, 1)),
        resolution=np.tile(np.array([camera.width, camera.height], np.float32), (count, 1)),
        child_frame=[plane] * count,
        parent_frame=[frame] * count,
    )
    yield Entry(columns=columns, still=(rr.Pinhole.from_fields(image_plane_distance=IMAGE_PLANE_M),))
