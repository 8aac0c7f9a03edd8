"""Navigation of the Argo: places in UTM metres, an FRD body in NED, and a 12 x 12 covariance.

The map's axes are east and north of the UTM grid, as the archive's: nothing is turned by the grid's convergence. The
covariance's state has the order of NavQAsciiData.txt: north, east, down; their rates; roll, pitch, yaw; their rates.
Angles are those of Rz(yaw) Ry(pitch) Rx(roll), in rad; velocities and rates go to an FLU body in ENU.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pyproj import CRS, Proj, Transformer

from fieldplay.core.errors import Defect, UsageError
from fieldplay.datasets.archive import Archive
from fieldplay.geometry import axes
from fieldplay.io.table import Tables, TableStream
from fieldplay.io.table_rows import TimedRows
from fieldplay.io.tagged_lines import TaggedFormat
from fieldplay.messages import records
from fieldplay.streams.stream import Stream

NAV = "nav"
PLACE, VELOCITY = ("north", "east", "down"), ("d_north", "d_east", "d_down")
ANGLES, RATES = ("roll", "pitch", "yaw"), ("d_roll", "d_pitch", "d_yaw")
AUTO, FIRST = "auto", "first"
ZONES = {56: (215e3, 235e3), 55: (765e3, 785e3)}  # metres east at Marulan, on the border of both
NORTH_M = (6.154e6, 6.168e6)
MIDDLE_M = 500e3  # easting of the middle of a zone
SOUTHERN_EPSG, WGS84_EPSG = 32700, 4326  # the first and the number of the zone
ROUNDED_M = (100.0, 100.0, 10.0)  # east, north, up: drives about one place share their origin
STATE = 12
POSE, TWIST = np.array([0, 1, 2, 6, 7, 8]), np.array([3, 4, 5, 9, 10, 11])
ENU_FROM_NED = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, -1.0]])

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class MapGrid:
    """Where the map lies: the UTM zone (south), and the origin's east, north, up in it in metres."""

    zone: int
    origin_m: tuple[float, float, float]

    @property
    def crs(self) -> CRS:
        return CRS.from_epsg(SOUTHERN_EPSG + self.zone)

    def convergence_rad(self) -> float:
        """By how much the grid's north is turned from true north at the origin, clockwise positive."""
        proj = Proj(self.crs)
        longitude, latitude = proj(*self.origin_m[:2], inverse=True)
        return float(np.radians(proj.get_factors(longitude, latitude).meridian_convergence))


def open_navigation(archive: Archive, tables: Mapping[str, Tables]) -> dict[str, Stream]:
    """The streams of NavQAsciiData.txt, if it is there."""
    if NAV not in tables:
        return {}
    table = tables[NAV]
    _report_no_covariances(archive, table)
    grid = grid_of(archive, table)
    _note_grid(archive, table, grid)
    conversions = NavigationConversions(
        grid=grid,
        rates_are=archive.parameters["nav_rates"],
        convergence_rad=grid.convergence_rad(),
        geodetic=Transformer.from_crs(grid.crs, CRS.from_epsg(WGS84_EPSG), always_xy=True),
    )
    return {"nav_odom": TableStream(table, conversions.odometry), "nav_fix": TableStream(table, conversions.fix)}


def _report_no_covariances(archive: Archive, tables: Tables) -> None:
    for table in tables.tables:
        if isinstance(table.format, TaggedFormat) and not table.format.has_lists:
            message = f"expected {STATE**2} covariances behind the {STATE} numbers of a line, got none; "
            message += "the rows are kept, their covariances are unknown"
            archive.defects(Defect(file=table.name, kind="no_covariance", stream="nav_odom", message=message))


def grid_of(archive: Archive, table: Tables) -> MapGrid:
    """Where the map lies, by the parameters and the first place."""
    east, north, up = _first_position(table)
    zone = archive.parameters["utm_zone"]
    if zone == AUTO:
        zone = zone_from_easting(east)
    return MapGrid(zone=zone, origin_m=origin_from_text(archive.parameters["map_origin"], (east, north, up)))


def _first_position(table: Tables) -> tuple[float, float, float]:
    rows = table.rows(min(range(len(table.blocks)), key=lambda index: table.blocks[index].first_ns))
    north, east, down = (float(value) for value in rows.columns(*PLACE)[0])
    return east, north, -down


def _note_grid(archive: Archive, table: Tables, grid: MapGrid) -> None:
    """Say where the map lies, and report a place that is not at Marulan."""
    east, north, _ = _first_position(table)
    is_chosen = archive.parameters["utm_zone"] != AUTO
    how = "by the parameter utm_zone" if is_chosen else f"by the first position, {east / 1e3:.1f} km east"
    origin = ",".join(f"{value:.10g}" for value in grid.origin_m)
    archive.notes.append(
        f"UTM zone {grid.zone} south, {how}; map's origin is {origin} (east, north, up in m) and its axes are the "
        f"grid's, whose north lies {np.degrees(grid.convergence_rad()):+.3f} deg (clockwise) from true north"
    )
    _report_strange_position(archive, table.tables[0].name, east=east, north=north, zone=grid.zone)


def _report_strange_position(archive: Archive, file: str, *, east: float, north: float, zone: int) -> None:
    """Report a position that is not at Marulan; it plays."""
    (west_end, east_end), (south_end, north_end) = ZONES[zone], NORTH_M
    if west_end <= east <= east_end and south_end <= north <= north_end:
        return
    expected = f"{west_end / 1e3:g} to {east_end / 1e3:g} km east, {south_end / 1e3:g} to {north_end / 1e3:g} km north"
    got = f"{east / 1e3:.3f} km east, {north / 1e3:.3f} km north"
    message = f"expected a position at Marulan, in zone {zone} {expected}, got {got}; it plays"
    archive.defects(Defect(file=file, kind="implausible_place", message=message))


def zone_from_easting(east_m: float) -> int:
    """55 or 56: what lies on their border is far in the east of the one, far in the west of the other."""
    return 56 if east_m < MIDDLE_M else 55


def origin_from_text(text: str, first_m: tuple[float, float, float]) -> tuple[float, float, float]:
    """East, north, up of the map's origin: as the text says, or the first place rounded."""
    if text == FIRST:
        east, north, up = (round(value / step) * step for value, step in zip(first_m, ROUNDED_M, strict=True))
        return east, north, up
    try:
        east, north, up = (float(part) for part in text.split(","))
    except ValueError:
        east = north = up = np.nan
    if not np.isfinite([east, north, up]).all():
        raise UsageError(f"parameter map_origin: expected '{FIRST}' or east,north,up in metres, got '{text}'")
    return east, north, up


@dataclass(frozen=True, kw_only=True)
class NavigationConversions:
    """What becomes of the rows of an archive: where its map lies, and what its rates are."""

    grid: MapGrid
    rates_are: str  # euler or body
    convergence_rad: float
    geodetic: Transformer  # safe in several threads

    def odometry(self, rows: TimedRows) -> records.Odometry:
        """base_link in the map, its twist in base_link."""
        angles, covariance = rows.columns(*ANGLES), covariance_of(rows)
        linear, angular = flu_from_ned(angles), flu_rates_from(angles, self.rates_are)
        return records.Odometry(
            stamp_ns=rows.stamp_ns,
            position_m=axes.enu_from_ned(rows.columns(*PLACE)) - self.grid.origin_m,
            orientation_xyzw=axes.quaternion_from_fixed_xyz(axes.enu_rpy_from_ned_rpy(angles)),
            pose_covariance=zero_where_unknown(pose_covariance(covariance)),
            linear_velocity_m_s=apply_matrices(linear, rows.columns(*VELOCITY)),
            angular_velocity_rad_s=apply_matrices(angular, rows.columns(*RATES)),
            twist_covariance=zero_where_unknown(twist_covariance(covariance, linear, angular)),
        )

    def fix(self, rows: TimedRows) -> records.Fix:
        """Places on WGS84, with the covariance about true east and north; what kind of fix it was is not archived."""
        longitude, latitude = self.geodetic.transform(rows["east"], rows["north"])
        covariance_m2 = rotate_covariance(covariance_of(rows)[:, :3, :3], ENU_FROM_NED)
        return records.Fix(
            stamp_ns=rows.stamp_ns,
            latitude_deg=np.asarray(latitude, np.float64),
            longitude_deg=np.asarray(longitude, np.float64),
            altitude_m=-rows["down"],
            status=np.zeros(len(rows), np.int8),
            covariance_m2=zero_where_unknown(rotate_covariance(covariance_m2, true_from_grid(self.convergence_rad))),
        )


def covariance_of(rows: TimedRows) -> Floats:
    """The covariances (n, 12, 12) of the rows."""
    return rows.lists.reshape(-1, STATE, STATE)


def zero_where_unknown(covariance: Floats) -> Floats:
    """Covariances (n, k, k), all zero as messages have unknown ones where a part of one is not known (NaN)."""
    unknown = np.isnan(covariance).any(axis=(-2, -1), keepdims=True)
    known: Floats = np.where(unknown, 0.0, covariance)
    return known


def true_from_grid(convergence_rad: float) -> Floats:
    """The rotation (3, 3) of vectors from the grid's east, north, up to true ones."""
    cos, sin = np.cos(convergence_rad), np.sin(convergence_rad)
    return np.array([[cos, sin, 0.0], [-sin, cos, 0.0], [0.0, 0.0, 1.0]])


def ned_from_frd(angles: Floats) -> Floats:
    """Rotations (n, 3, 3) that take vectors of the body to the world, from roll, pitch, yaw (n, 3)."""
    (sr, sp, sy), (cr, cp, cy) = np.sin(angles).T, np.cos(angles).T
    rows = [
        [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
        [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
        [-sp, cp * sr, cp * cr],
    ]
    return np.moveaxis(np.array(rows), -1, 0)


def flu_from_ned(angles: Floats) -> Floats:
    """Matrices (n, 3, 3) that take vectors of the world (NED) to the body (FLU)."""
    matrices: Floats = axes.FLU_FROM_FRD[:, None] * ned_from_frd(angles).transpose(0, 2, 1)
    return matrices


def flu_rates_from(angles: Floats, rates_are: str) -> Floats:
    """Matrices (n, 3, 3) that take the archive's dRoll, dPitch, dYaw to rates about the body's axes (FLU).

    They are `euler` rates, the derivatives of the angles, or already the `body` rates of the FRD body.
    """
    frd = np.zeros((len(angles), 3, 3)) + np.eye(3)
    if rates_are == "euler":
        (sr, sp, _), (cr, cp, _) = np.sin(angles).T, np.cos(angles).T
        frd[:, 0, 2] = -sp
        frd[:, 1, 1], frd[:, 1, 2] = cr, sr * cp
        frd[:, 2, 1], frd[:, 2, 2] = -sr, cr * cp
    matrices: Floats = axes.FLU_FROM_FRD[:, None] * frd
    return matrices


def pose_covariance(covariance: Floats) -> Floats:
    """Covariances (n, 6, 6) of east, north, up and of roll, pitch, yaw about fixed axes, from (n, 12, 12)."""
    rotation = np.zeros((6, 6))
    rotation[:3, :3], rotation[3:, 3:] = ENU_FROM_NED, np.diag(axes.FLU_FROM_FRD)
    return rotate_covariance(covariance[:, POSE[:, None], POSE], rotation)


def twist_covariance(covariance: Floats, linear: Floats, angular: Floats) -> Floats:
    """Covariances (n, 6, 6) of the twist in the body from (n, 12, 12), by the matrices that take the rates there.

    The angles' own errors are left out: they would add the velocity times an error of direction.
    """
    rotation = np.zeros((len(covariance), 6, 6))
    rotation[:, :3, :3], rotation[:, 3:, 3:] = linear, angular
    return rotate_covariance(covariance[:, TWIST[:, None], TWIST], rotation)


def rotate_covariance(covariance: Floats, rotation: Floats) -> Floats:
    """Rotate covariances (..., k, k) by matrices (..., k, k)."""
    rotated: Floats = rotation @ covariance @ np.swapaxes(rotation, -1, -2)
    return rotated


def apply_matrices(matrices: Floats, vectors: Floats) -> Floats:
    """Multiply matrices (n, 3, 3) by vectors (n, 3)."""
    result: Floats = np.einsum("nij,nj->ni", matrices, vectors)
    return result


def flu_rates_between(angles: Floats, seconds: Floats) -> Floats:
    """Mean rates (n - 1, 3) about the body's axes (FLU) from one attitude (n, 3) to the next, so much later."""
    matrices = ned_from_frd(angles)
    rotation = np.swapaxes(matrices[:-1], 1, 2) @ matrices[1:]
    skew = (rotation - np.swapaxes(rotation, 1, 2)) / 2
    axis = np.stack([skew[:, 2, 1], skew[:, 0, 2], skew[:, 1, 0]], axis=1)
    sine = np.linalg.norm(axis, axis=1)
    angle = np.arctan2(sine, (np.trace(rotation, axis1=1, axis2=2) - 1) / 2)
    scale = np.where(sine > 0, angle / np.where(sine > 0, sine, 1.0), 1.0)
    rates: Floats = axis * (scale / seconds)[:, None] * axes.FLU_FROM_FRD
    return rates
