"""The ground model of a surveying drone beside AMEDS's recordings: a GeoTIFF of heights as a cloud in the map."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pyproj import CRS, Transformer
from pyproj.exceptions import CRSError

from fieldplay.core.errors import ArchiveError, Defect, UsageError, pluralize
from fieldplay.datasets.ameds.streams import lander_geodetic
from fieldplay.datasets.archive import Archive, Measurement, measure, sample_indices
from fieldplay.geometry.geodesy import enu_from_geodetic
from fieldplay.io.containers import Files
from fieldplay.io.geotiff import (
    Indices,
    Raster,
    every_nth,
    open_raster,
    thinning_step,
)
from fieldplay.messages import records
from fieldplay.streams.stream import InMemoryStream, Stream

KEY = "ground"
WGS84_EPSG = 4979  # with heights above the ellipsoid
POINT = np.dtype([("x", "<f4"), ("y", "<f4"), ("z", "<f4")])
MAX_PLACES, MAX_SPANS = 200, 50
FAR_M = 1.0

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, eq=False)
class Ground:
    """Which pixels of a file are taken, and how its grid lies on the earth; `offset_m` is added to its heights."""

    files: Files
    name: str
    rows: Indices
    columns: Indices
    grid_from_pixel: Floats
    geodetic_from_grid: Transformer
    origin: Floats
    offset_m: float

    def points(self) -> NDArray[np.void]:
        """The pixels that have a height, as points in the map."""
        with self.files.open(self.name) as file, open_raster(file) as raster:
            pixels, heights = raster.known_heights(self.rows, self.columns)
        enu = self._enu(self.grid_from_pixel @ pixels, heights)
        points = np.empty(len(heights), POINT)
        for axis, name in enumerate("xyz"):
            points[name] = enu[:, axis]
        return points

    def heights_below(self, geodetic: Floats) -> Floats:
        """Heights (n,) of the ground, offset included, below places (n, 3) on the earth in rad and m; NaN for none."""
        to_grid = (np.degrees(geodetic[:, 1]), np.degrees(geodetic[:, 0]))
        east, north = self.geodetic_from_grid.transform(*to_grid, direction="INVERSE")
        with self.files.open(self.name) as file, open_raster(file) as raster:
            return raster.heights_at(np.stack([east, north], axis=-1), self.grid_from_pixel) + self.offset_m

    def _enu(self, grid: Floats, heights: Floats) -> Floats:
        longitude, latitude = self.geodetic_from_grid.transform(*grid)
        geodetic = np.stack([np.radians(latitude), np.radians(longitude), heights + self.offset_m], axis=-1)
        return enu_from_geodetic(geodetic, self.origin)


def ground_stream(archive: Archive, files: Files, first_ns: int | None) -> dict[str, Stream]:
    """The stream `ground` of one cloud at the first time of the others; nothing where there is no model."""
    requested = archive.spec.rows[KEY]
    names = files.matching(requested.files, requested.folder)
    if not names or first_ns is None:
        return {}
    archive.notes += [f"{name}: a second ground model, which is not read" for name in names[1:]]
    try:
        ground = _ground(archive, files, names[0])
    except ArchiveError as error:
        archive.defects(Defect(file=names[0], kind="unreadable_surface", stream=KEY, message=str(error)))
        return {}
    archive.checks.append(lambda opened: check_ground(opened, ground))
    clouds = records.Clouds(
        stamp_ns=np.array([first_ns], np.int64), names=(ground.name,), load=lambda _: ground.points()
    )
    return {KEY: InMemoryStream(clouds)}


def _ground(archive: Archive, files: Files, name: str) -> Ground:
    with files.open(name) as file, open_raster(file) as raster:
        step = thinning_step(archive.parameters["ground_cell_m"], raster.cell_m, (raster.rows, raster.columns))
        crs, remark = _crs(archive, raster)
        archive.notes.append(
            f"{name}: {raster.rows} x {raster.columns} pixels of {raster.cell_m:.3g} m in {crs.name}{remark}; "
            f"step of {pluralize(step, 'pixel')}"
        )
        return Ground(
            files=files,
            name=name,
            rows=every_nth(np.arange(raster.rows), step),
            columns=every_nth(np.arange(raster.columns), step),
            grid_from_pixel=raster.grid_from_pixel,
            geodetic_from_grid=Transformer.from_crs(crs, CRS.from_epsg(WGS84_EPSG), always_xy=True),
            origin=lander_geodetic(archive.spec.constants),
            offset_m=float(archive.parameters["ground_z_offset_m"]),
        )


def _crs(archive: Archive, raster: Raster) -> tuple[CRS, str]:
    """The coordinates of the file's grid: as requested, as the file says, else the UTM zone of Etna."""
    chosen = int(archive.parameters["ground_epsg"])
    usual = int(archive.spec.constants["ground_epsg"])
    code = chosen or raster.epsg or usual
    try:
        crs = CRS.from_epsg(code)
    except CRSError as error:
        raise (UsageError if chosen else ArchiveError)(f"ground_epsg: {code} is no projection: {error}") from None
    return crs, "" if chosen or raster.epsg else f" (EPSG {usual}, as the file does not name it: see ground_epsg)"


def check_ground(archive: Archive, ground: Ground) -> None:
    """Note how high the INS is above the ground along its way, against how high it stands on the robot."""
    fixes = archive.streams.get("fix")
    if fixes is None:
        archive.notes.append(f"{ground.name}: no fixes, so its position cannot be checked")
        return
    positions = []
    spans = sample_indices(len(fixes.spans), MAX_SPANS)
    for index in spans:
        record = fixes.load(index)
        if isinstance(record, records.Fix) and len(record):
            rows = np.linspace(0, len(record) - 1, max(MAX_PLACES // len(spans), 2)).astype(int)
            degrees = np.stack([record.latitude_deg, record.longitude_deg, record.altitude_m], axis=-1)[rows]
            positions.append(degrees * [np.pi / 180, np.pi / 180, 1.0])
    geodetic = np.concatenate([np.zeros((0, 3)), *positions])
    try:
        above = geodetic[:, 2] - ground.heights_below(geodetic)
    except ArchiveError as error:
        archive.notes.append(f"{ground.name}: whether it is placed well cannot be measured: {error}")
        return
    above = above[np.isfinite(above)]
    if not len(above):
        archive.notes.append(f"warning: {ground.name}: the recording is outside it; see ground_epsg")
        return
    low, middle, high = np.percentile(above, [10, 50, 90])
    requested = float(archive.spec.constants["ins_height_m"])
    text = (
        f"the INS is {middle:.2f} m above the ground model (from {low:.2f} to {high:.2f} m, {len(above)} of "
        f"{len(geodetic)} positions lie on it), expected some {requested:g} m"
    )
    doubt = None
    if abs(middle - requested) > FAR_M:
        offset_m = archive.parameters["ground_z_offset_m"] + middle - requested
        doubt = f": --set ground_z_offset_m={offset_m:.2f} would fit"
    measure(archive, Measurement(text, doubt=doubt))
