"""The surface model next to SherpaTT's logs: a GeoTIFF of heights, downsampled to a point cloud in the map."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldplay.core.errors import ArchiveError, Defect, UsageError
from fieldplay.datasets.archive import Archive
from fieldplay.datasets.spec import DatasetSpec
from fieldplay.geometry.axes import rotate_vectors
from fieldplay.io.containers import Files
from fieldplay.io.file_names import last_part
from fieldplay.io.geotiff import (
    Indices,
    Raster,
    every_nth,
    open_raster,
    thinning_step,
)
from fieldplay.messages import records
from fieldplay.streams.stream import InMemoryStream, Stream

KEY = "surface"
NUMBER = r"([-+]?\d+(?:\.\d+)?)"
FROM_CORNER = re.compile(rf"south\s+{NUMBER}\s+east\s+{NUMBER}")
ON_GRID = re.compile(rf"easting\s+{NUMBER}\s+northing\s+{NUMBER}")
RANGE = re.compile(r"(\d+)\s*-\s*(\d+)")
POINT = np.dtype([("x", "<f4"), ("y", "<f4"), ("z", "<f4")])

Numbers = NDArray[np.float64]
ODOMETRY, SATELLITES = "wheel_odom", "dgps_odom"
BODY, BASE = "body_height_m", "base_link"
MAX_POSITIONS = 50
FAR_M, FAR_DEG = 0.5, 20.0
AHEAD = np.array([1.0, 0.0, 0.0])


@dataclass(frozen=True, kw_only=True, eq=False)
class Surface:
    """The selected pixels of a file, and their positions in the map.

    `map_from_pixel` (2, 3): x and y of (column, row, 1), counted from the outer corner; `height_m` is where z is 0.
    """

    files: Files
    name: str
    rows: Indices
    columns: Indices
    map_from_pixel: Numbers
    height_m: float

    def points(self) -> NDArray[np.void]:
        """The pixels that have a height, as points."""
        with self.files.open(self.name) as file, open_raster(file) as raster:
            pixels, heights = raster.known_heights(self.rows, self.columns)
        points = np.empty(len(heights), POINT)
        points["x"], points["y"] = self.map_from_pixel @ pixels
        points["z"] = heights - self.height_m
        return points

    def heights_below(self, positions: Numbers) -> Numbers:
        """Return the height (n,) of the surface below positions (n, 2) in the map; NaN where there is none."""
        with self.files.open(self.name) as file, open_raster(file) as raster:
            return raster.heights_at(positions, self.map_from_pixel) - self.height_m


def add_surface(archive: Archive, files: Files, spec: DatasetSpec) -> None:
    """Append the stream `surface` to those of an open archive, as in the dataset's description."""
    streams = open_surface(archive, files, archive.streams)
    archive.streams |= streams
    others = [stream for stream in archive.spec.streams if stream.id != KEY]
    own = [stream for stream in spec.streams if stream.id in streams]
    archive.spec = replace(archive.spec, streams=(*others, *own))


def open_surface(archive: Archive, files: Files, streams: Mapping[str, Stream]) -> dict[str, Stream]:
    """The stream `surface` of one cloud, at the first time of the other streams; nothing where there is no model."""
    requested = archive.spec.rows[KEY]
    names = files.matching(requested.files, requested.folder)
    first = min((span.first_ns for stream in streams.values() for span in stream.spans), default=None)
    if not names or first is None:
        return {}
    names = sorted(names, key=lambda name: not _model_values(archive, name))
    for other in names[1:]:
        archive.notes.append(f"{other}: a second surface model, which is not read")
    try:
        surface = _surface(archive, files, names[0], start_of_body(archive, streams))
    except ArchiveError as error:
        archive.defects(Defect(file=names[0], kind="unreadable_surface", stream=KEY, message=str(error)))
        return {}
    archive.checks.append(
        lambda opened: check_surface(opened, surface.name, body_positions(opened), surface.heights_below)
    )
    yaw = _model_values(archive, surface.name).get("odometry_yaw_deg")
    if yaw is not None:
        archive.checks.append(lambda opened: check_heading(opened, float(yaw)))
    clouds = records.Clouds(
        stamp_ns=np.array([first], np.int64), names=(surface.name,), load=lambda _: surface.points()
    )
    return {KEY: InMemoryStream(clouds)}


def _model_values(archive: Archive, name: str) -> Mapping[str, Any]:
    """Return the entry of a model in the description, by the model's name."""
    models = archive.spec.constants.get("surfaces", ())
    return next((m for m in models if re.fullmatch(m["files"], last_part(name), re.IGNORECASE)), {})


def _surface(archive: Archive, files: Files, name: str, start: Numbers) -> Surface:
    """`start` (3,) is the position of the body in the map at the start of the drive."""
    known, parameters = _model_values(archive, name), archive.parameters
    with files.open(name) as file, open_raster(file) as raster:
        rows = _index_range(archive, "surface_rows", known.get("rows"), raster.rows)
        columns = _index_range(archive, "surface_columns", known.get("columns"), raster.columns)
        step = thinning_step(parameters["surface_cell_m"], raster.cell_m, (len(rows), len(columns)))
        pixel, note = _start_pixel(parameters["surface_start"], known.get("start"), raster)
        height = parameters["surface_z_offset_m"] or known.get("z_offset_m") or _height_of_body(archive, raster, pixel)
    turned = raster.grid_from_pixel[:, :2]
    rows, columns = every_nth(rows, step), every_nth(columns, step)
    archive.notes.append(
        f"{name}: {raster.rows} x {raster.columns} pixels of {raster.cell_m:.3g} m; rows {rows[0]} to {rows[-1]} and "
        f"columns {columns[0]} to {columns[-1]} are used with a step of {step}; the drive starts at row {pixel[1]:.1f} "
        f"and column {pixel[0]:.1f}{note}; the body starts at a height of {height:.2f} m"
    )
    return Surface(
        files=files,
        name=name,
        rows=rows,
        columns=columns,
        map_from_pixel=np.column_stack([turned, start[:2] - turned @ pixel]),
        height_m=float(height) - float(start[2]),
    )


def _index_range(archive: Archive, name: str, known: str | None, count: int) -> Indices:
    """Return the requested rows or columns; all of them where the known ones lie beyond the file."""
    requested = archive.parameters[name]
    text = requested or known
    if not text:
        return np.arange(count)
    match = RANGE.fullmatch(text.strip())
    first, end = (int(number) for number in match.groups()) if match else (0, 0)
    if first < min(end, count):
        return np.arange(first, min(end, count))
    if requested:
        raise UsageError(f"{name}: expected such as 0-{count}, of {count}, got '{requested}'")
    archive.notes.append(f"{name}: what is known of the surface model, {known}, lies beyond its {count}: all are taken")
    return np.arange(count)


def _start_pixel(requested: str, known: str | None, raster: Raster) -> tuple[Numbers, str]:
    """Column and row (2,) of the start of the drive, counted from the outer corner, and the source of these numbers."""
    text = requested or known
    turned, corner = raster.grid_from_pixel[:, :2], raster.grid_from_pixel[:, 2]
    if not text:
        return np.array([raster.columns, raster.rows]) / 2, " (its middle, as nothing determines it: see surface_start)"
    by_corner, on_grid = FROM_CORNER.fullmatch(text.strip()), ON_GRID.fullmatch(text.strip())
    if by_corner:
        south, east = map(float, by_corner.groups())
        offset = np.array([east, -south])
    elif on_grid:
        offset = np.array([float(number) for number in on_grid.groups()]) - corner
    else:
        form = "'south 327.0 east 272.72' or 'easting 400327.0 northing 3440272.72'"
        raise UsageError(f"surface_start: expected such as {form}, got '{text}'")
    return np.linalg.solve(turned, offset), ""


def _height_of_body(archive: Archive, raster: Raster, pixel: Numbers) -> float:
    """Return the height of the body at the start: the height of the surface plus that of the rover at rest."""
    column, row = np.floor(pixel).astype(np.intp)
    inside = 0 <= row < raster.rows and 0 <= column < raster.columns
    height = raster.heights(np.array([row]), np.array([column]))[0, 0] if inside else np.nan
    if not np.isfinite(height):
        raise ArchiveError("the surface model has no height where the drive starts: set surface_z_offset_m")
    return float(height) + float(archive.spec.constants[BODY])


def start_of_body(archive: Archive, streams: Mapping[str, Stream]) -> Numbers:
    """Return the GNSS position of the body in the map (3,) at the start of the odometry; 0, 0, 0 if there is none."""
    satellites = streams.get(SATELLITES)
    record = None if satellites is None else _nearest_row(satellites, _start_ns(streams.get(ODOMETRY, satellites)))
    return np.zeros(3) if record is None else _bodies(archive, record).reshape(3)


def _start_ns(stream: Stream) -> int:
    return min((span.first_ns for span in stream.spans), default=0)


def _nearest_row(stream: Stream, stamp_ns: int) -> records.Odometry | None:
    """The row of odometry that is nearest to a time."""
    spans = stream.spans
    for index in sorted(
        range(len(spans)), key=lambda i: max(spans[i].first_ns - stamp_ns, stamp_ns - spans[i].last_ns, 0)
    ):
        record = stream.load(index)
        if isinstance(record, records.Odometry) and len(record):
            return record.only(np.array([np.argmin(np.abs(record.stamp_ns - stamp_ns))]))
    return None


def body_positions(archive: Archive) -> Numbers:
    """Positions (n, 3) of the body in the map along its path, by satellite navigation."""
    satellites = archive.streams.get(SATELLITES)
    if satellites is None:
        return np.zeros((0, 3))
    poses = []
    for index in range(0, len(satellites.spans), -(-len(satellites.spans) // MAX_POSITIONS)):
        record = satellites.load(index)
        if isinstance(record, records.Odometry) and len(record):
            each = -(-len(record) * min(len(satellites.spans), MAX_POSITIONS) // MAX_POSITIONS)
            poses.append(_bodies(archive, record.only(np.arange(0, len(record), each))))
    return np.concatenate(poses) if poses else np.zeros((0, 3))


def check_surface(archive: Archive, name: str, positions: Numbers, heights_below: Callable[[Numbers], Numbers]) -> None:
    """Note the height of the body above the surface along its trajectory, against its height at rest."""
    requested = float(archive.spec.constants[BODY])
    if not len(positions):
        archive.notes.append(f"{name}: no satellite positions in the map, so its position cannot be checked")
        return
    try:
        above = positions[:, 2] - heights_below(positions[:, :2])
    except ArchiveError as error:
        archive.notes.append(f"{name}: whether it is placed well cannot be measured: {error}")
        return
    above = above[np.isfinite(above)]
    if not len(above):
        archive.notes.append(f"{name}: the path by the satellites is outside it; see surface_start")
        return
    low, middle, high = np.percentile(above, [10, 50, 90])
    doubt = ""
    if abs(middle - requested) > FAR_M:
        doubt = ": it is placed wrongly, see surface_start and surface_z_offset_m"
    archive.notes.append(
        f"measured: the body is {middle:.2f} m above the surface ({low:.2f} to {high:.2f} m; {len(above)} of "
        f"{len(positions)} satellite positions lie on it), expected {requested:.2f} m{doubt}"
    )


def check_heading(archive: Archive, known_deg: float) -> None:
    """Note the direction of the odometry's x axis by GNSS, against the authors' number."""
    odometry, satellites = archive.streams.get(ODOMETRY), archive.streams.get(SATELLITES)
    if odometry is None or satellites is None:
        return
    start = _start_ns(odometry)
    unit, wheels = _nearest_row(satellites, start), _nearest_row(odometry, start)
    if unit is None or wheels is None:
        return
    by_unit = rotate_vectors(unit.orientation_xyzw[0], rotate_vectors(_body_in_unit(archive)[1], AHEAD))
    by_wheels = rotate_vectors(wheels.orientation_xyzw[0], AHEAD)
    measured_deg = float(np.degrees(np.arctan2(by_unit[1], by_unit[0]) - np.arctan2(by_wheels[1], by_wheels[0])))
    difference = (measured_deg - known_deg + 180) % 360 - 180
    doubt = ": the satellite unit's axes are taken wrongly, see dgps_frame" if abs(difference) > FAR_DEG else ""
    archive.notes.append(
        f"measured: the odometry's x axis points {measured_deg % 360:.1f} degrees from east to north by the satellite "
        f"unit, {known_deg:.1f} by the authors' numbers{doubt}"
    )


def _bodies(archive: Archive, record: records.Odometry) -> Numbers:
    """Positions (n, 3) of the body from poses of the unit, whose mounting position is in the description."""
    return np.asarray(record.position_m + rotate_vectors(record.orientation_xyzw, _body_in_unit(archive)[0]), float)


def _body_in_unit(archive: Archive) -> tuple[Numbers, Numbers]:
    """The position (3,) and quaternion (4,) of the body in the GNSS unit."""
    unit = next(stream.child_frame for stream in archive.spec.streams if stream.id == SATELLITES)
    for row in archive.spec.extrinsics:
        if (row.parent, row.child) == (unit, BASE):
            return np.array(row.translation), np.array(row.rotation)
    return np.zeros(3), np.array([0.0, 0.0, 0.0, 1.0])
