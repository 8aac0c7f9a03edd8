"""A projection: the nearest image, the scans nearest to that, where it shows their points; and all that in words."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldplay.bags.bag_stream import BagStream, Serialized
from fieldplay.core.errors import ArchiveError, UsageError
from fieldplay.core.timestamps import NS_PER_S, time_difference_text, time_of_text, time_text
from fieldplay.datasets.archive import Archive
from fieldplay.datasets.spec import DatasetSpec
from fieldplay.geometry.camera_model import (
    CameraModel,
    Projection,
    camera_of_size,
    projection_from_points,
)
from fieldplay.geometry.extrinsics import transform_from_published
from fieldplay.geometry.frames import Frames
from fieldplay.geometry.transforms import Array
from fieldplay.messages import records
from fieldplay.messages.image_pixels import pixels_from_file, pixels_from_image
from fieldplay.messages.records import Record
from fieldplay.projection.frame_motion import (
    AUTO,
    SensorMotion,
    frames_about,
    frames_with_truth,
    motion_of_sensor,
    transform_at,
)
from fieldplay.projection.points import SensorPoints, points_from_cloud, points_from_scan
from fieldplay.projection.sensor_names import (
    SCAN,
    Sensor,
    camera_of_name,
    camera_stream,
    laser_of_name,
    laser_stream,
    spec_with_sensors,
)
from fieldplay.streams.stream import Span, Stream
from fieldplay.topics.archive_topics import window_of
from fieldplay.topics.selection import Selection

TRIED = 16  # rows beside those wanted, where some are damaged
ROUNDS, CLOSE_NS = 8, NS_PER_S // 10  # of the search in a bag whose headers have another clock than its recorder
Pixels = NDArray[np.uint8]
Report = Callable[[str], None]
OWN, TF = "own", "tf"
Step = Callable[[float, int], None]


# The image nearest to a time, and the scans nearest to that; damaged ones are reported and the next one is used.


@dataclass(frozen=True, eq=False)
class NearRow:
    """A row of a record and its time; in a bag it was logged `delay_ns` later."""

    stamp_ns: int
    record: Record
    row: int
    delay_ns: int = 0


def log_delay_ns(stream: Stream) -> int:
    """How much later the first message of a bag's topic was logged than its header says; 0 for an archive."""
    record = stream.load(0) if isinstance(stream, BagStream) and stream.spans else None
    if not isinstance(record, Serialized):
        return 0
    rows = np.arange(min(len(record), TRIED))
    framed_records = (framed.record for row in rows for framed in record.framed_records(rows[row : row + 1]))
    return next((int(one.leaves_ns[0] - one.stamp_ns[0]) for one in framed_records), 0)


def nearest_rows(stream: Stream, stamp_ns: int, count: int) -> list[NearRow]:
    """Return so many rows, or all there are, those nearest to a time first; of two as near the earlier one.

    A bag is ordered by log time, and its headers may have another clock, which may even run at another rate, as in a
    simulation: the search is repeated with the delay of the message that is found.
    """
    delay_ns, rows = log_delay_ns(stream), list[NearRow]()
    for _ in range(ROUNDS):
        rows = _nearest_logged(stream, stamp_ns, count, delay_ns=delay_ns)
        if not rows or abs(rows[0].delay_ns - delay_ns) <= CLOSE_NS:
            break
        delay_ns = rows[0].delay_ns
    return rows


def _nearest_logged(stream: Stream, stamp_ns: int, count: int, *, delay_ns: int) -> list[NearRow]:
    """The same among the messages that were logged about so much later."""
    rows: list[NearRow] = []
    log_ns = stamp_ns + delay_ns
    for index in sorted(range(len(stream.spans)), key=lambda index: _distance(stream.spans[index], log_ns)):
        is_full = len(rows) == count
        if is_full and _distance(stream.spans[index], log_ns) > abs(rows[-1].stamp_ns - stamp_ns):
            break
        rows = sorted(
            [*rows, *_nearest_of(stream.load(index), log_ns, count)],
            key=lambda row: (abs(row.stamp_ns - stamp_ns), row.stamp_ns),
        )[:count]
    return rows


def _nearest_of(record: Record, log_ns: int, count: int) -> list[NearRow]:
    order = np.argsort(np.abs(record.stamp_ns - log_ns), kind="stable")[:count]
    if isinstance(record, Serialized):  # the times in the messages of a bag are those that count
        framed_records = [framed.record for framed in record.framed_records(order)]
        rows = [(one, row, *times) for one in framed_records for row, times in enumerate(_times_of(one))]
        return [NearRow(stamp_ns, one, row, delay_ns=logged_ns - stamp_ns) for one, row, stamp_ns, logged_ns in rows]
    return [NearRow(int(record.stamp_ns[row]), record, row) for row in order.tolist()]


def _times_of(record: Record) -> list[tuple[int, int]]:
    return list(zip(record.stamp_ns.tolist(), record.leaves_ns.tolist(), strict=True))


def _distance(span: Span, stamp_ns: int) -> int:
    """How near to a time a row of a span may be."""
    return max(span.first_ns - stamp_ns, stamp_ns - span.last_ns, 0)


@dataclass(frozen=True, eq=False)
class CameraImage:
    """An image (h, w, 3) in BGR at its time; in a bag it was logged `delay_ns` later."""

    stamp_ns: int
    pixels: Pixels
    delay_ns: int = 0


@dataclass(frozen=True, eq=False)
class Scan:
    """The points of a scan at its time."""

    stamp_ns: int
    points: SensorPoints

    @property
    def then_ns(self) -> NDArray[np.int64]:
        """When each point was measured (n,)."""
        return self.stamp_ns + np.rint(self.points.offsets_s * NS_PER_S).astype(np.int64)


def image_at(camera: Sensor, stamp_ns: int, within_s: float, report: Report) -> CameraImage:
    """The image nearest to a time."""
    rows = _near(camera, stamp_ns, within_s, count=1, other="the requested time")
    for row in rows:
        try:
            return CameraImage(row.stamp_ns, _pixels_of(row), row.delay_ns)
        except (ArchiveError, OSError) as error:
            report(f"{_name_of(row)}: {error}; the next nearest image is used")
    raise ArchiveError(f"{camera.spec.topic}: none of {len(rows)} images within {within_s:g} s can be read")


def scans_at(laser: Sensor, stamp_ns: int, within_s: float, *, count: int, report: Report) -> list[Scan]:
    """The scans nearest to a time, in the order of time; the nearest of them must be within some seconds."""
    rows = _near(laser, stamp_ns, within_s, count=count, other="the image")
    scans: list[Scan] = []
    for row in rows:
        try:
            scans.append(Scan(row.stamp_ns, _points_of(row)))
        except (ArchiveError, OSError) as error:
            report(f"{_name_of(row)}: {error}; it is left out")
        if len(scans) == count:
            break
    if not scans:
        raise ArchiveError(f"{laser.spec.topic}: none of {len(rows)} scans near the image can be read")
    return sorted(scans, key=lambda scan: scan.stamp_ns)


def _near(sensor: Sensor, stamp_ns: int, within_s: float, *, count: int, other: str) -> Sequence[NearRow]:
    rows = nearest_rows(sensor.stream, stamp_ns, count + TRIED)
    near = [row for row in rows if abs(row.stamp_ns - stamp_ns) <= within_s * NS_PER_S]
    if not near:
        distance = time_difference_text(rows[0].stamp_ns, stamp_ns, other) if rows else ""
        nearest = f"the nearest is at {time_text(rows[0].stamp_ns)}, {distance}" if rows else "there is none"
        raise ArchiveError(f"{sensor.spec.topic}: nothing within {within_s:g} s of {other}; {nearest}")
    return rows if count > 1 else near


def _pixels_of(row: NearRow) -> Pixels:
    if not isinstance(row.record, records.Images):
        raise TypeError(f"expected images, got {type(row.record).__name__}")
    data = row.record.load(row.row)
    return pixels_from_image(data) if isinstance(data, records.Pixels) else pixels_from_file(data)


def _points_of(row: NearRow) -> SensorPoints:
    record = row.record
    if isinstance(record, records.Clouds):
        return points_from_cloud(record.load(row.row))
    if isinstance(record, records.LaserScans):
        index = row.row
        return points_from_scan(
            record.ranges_m[index, : record.count[index]],
            angle_min_rad=float(record.angle_min_rad[index]),
            angle_increment_rad=float(record.angle_increment_rad[index]),
            time_increment_s=float(record.time_increment_s[index]),
            limits_m=(float(record.range_min_m[index]), float(record.range_max_m[index])),
        )
    raise TypeError(f"expected scans or clouds, got {type(record).__name__}")


def _name_of(row: NearRow) -> str:
    if isinstance(row.record, records.Images | records.Clouds):
        return row.record.names[row.row]
    return f"the scan at {time_text(row.stamp_ns)}"


@dataclass(frozen=True, kw_only=True)
class ProjectionRequest:
    """What to project: names and time as users write them."""

    laser: str
    camera: str
    time: str
    within_s: float = 0.5
    scans: int = 1
    extrinsics: str = ""  # own or tf; empty: own where the dataset has a row of its own for the two
    fixed_frame: str = AUTO


@dataclass(frozen=True, eq=False, kw_only=True)
class ProjectionResult:
    """An image and the projected points, with their ranges (n,) in m from the sensor."""

    laser: Sensor
    camera: Sensor
    requested_ns: int
    start_ns: int
    image: CameraImage
    scans: Sequence[Scan]
    projection: Projection
    ranges_m: Array
    extrinsics: str
    motion: SensorMotion


def project(archive: Archive, requested: ProjectionRequest, *, step: Step, report: Report) -> ProjectionResult:
    """Find, read and project; `step` receives the fraction done, `report` messages for the user."""
    if archive.bag is not None:
        archive.spec = spec_with_sensors(archive)
    laser = laser_of_name(archive, requested.laser)
    camera, numbers = camera_of_name(archive, requested.camera)
    start_ns = window_of(archive, Selection()).archive_ns - log_delay_ns(camera.stream)
    requested_ns = _time_in_stamps(requested.time, start_ns, camera)
    own = _own_row(archive.spec, camera.spec.frame, laser.spec.frame, requested.extrinsics)
    image = image_at(camera, requested_ns, requested.within_s, report)
    step(0.3, 1)
    scans = scans_at(laser, image.stamp_ns, requested.within_s, count=requested.scans, report=report)
    step(0.6, 2)
    first_ns, last_ns = min(image.stamp_ns, scans[0].stamp_ns), max(image.stamp_ns, scans[-1].stamp_ns)
    frames = frames_about(archive, first_ns, last_ns, delay_ns=image.delay_ns)
    step(0.8, 3)
    still = own
    if still is None:
        still = transform_at(frames, camera.spec.frame, laser.spec.frame, image.stamp_ns)
    trees = frames, frames_with_truth(archive, frames, first_ns, last_ns)
    motion = _motion(trees, requested.fixed_frame, image, sensor=laser.spec.frame, scans=scans)
    points = np.concatenate([scan.points.points for scan in scans])
    model = _model_for(image, numbers, camera.spec.topic, report)
    return ProjectionResult(
        laser=laser,
        camera=camera,
        requested_ns=requested_ns,
        start_ns=start_ns,
        image=image,
        scans=scans,
        projection=projection_from_points(model, still @ motion.now_t_then, points),
        ranges_m=np.linalg.norm(points, axis=1),
        extrinsics=TF if own is None else OWN,
        motion=motion,
    )


def _time_in_stamps(text: str, start_ns: int, camera: Sensor) -> int:
    """The time of a text in the clock of the headers, which in a bag from a simulation may start near 0.

    A number of seconds that lies behind the end of the recording is a stamp itself if the recording has it.
    """
    requested_ns = time_of_text(text, start_ns)
    spans = camera.stream.spans
    length_ns = max(span.last_ns for span in spans) - min(span.first_ns for span in spans)
    is_stamp = start_ns <= requested_ns - start_ns <= start_ns + length_ns
    return requested_ns - start_ns if requested_ns > start_ns + length_ns and is_stamp else requested_ns


def _motion(
    trees: tuple[Frames, Frames | None], fixed: str, image: CameraImage, *, sensor: str, scans: Sequence[Scan]
) -> SensorMotion:
    """How the sensor moved from its points to the image: by the truth where that is known, else by tf."""
    frames, truth = trees
    then_ns = np.concatenate([scan.then_ns for scan in scans])
    if truth is not None and fixed in (AUTO, truth.path_to_root(sensor)[-1]):
        motion = motion_of_sensor(truth, sensor, image.stamp_ns, then_ns=then_ns, fixed=AUTO)
        if motion.frame:
            return motion
    return motion_of_sensor(frames, sensor, image.stamp_ns, then_ns=then_ns, fixed=fixed)


def own_transform(spec: DatasetSpec, camera: str, laser: str) -> Array | None:
    """camera_T_laser (4, 4) by a row that the dataset has for these two frames alone."""
    rows = [row for row in spec.projections if (row.parent, row.child) == (camera, laser)]
    return transform_from_published(rows[0]) if rows else None


def _own_row(spec: DatasetSpec, camera: str, laser: str, extrinsics: str) -> Array | None:
    transform = own_transform(spec, camera, laser) if extrinsics != TF else None
    if extrinsics == OWN and transform is None:
        pairs = ", ".join(f"{row.child} in {row.parent}" for row in spec.projections) or "none"
        raise UsageError(f"{spec.name} has no row of its own for {laser} in {camera}; it has {pairs}")
    return transform


def _model_for(image: CameraImage, camera: CameraModel, topic: str, report: Report) -> CameraModel:
    """The camera for an image, which may be a smaller one than its calibration is for."""
    camera.require_projection()
    height, width = image.pixels.shape[:2]
    fitted = camera_of_size(camera, width, height)
    if fitted is camera:
        return camera
    sizes = f"{topic}: its calibration is for {camera.width} x {camera.height} pixels, the image has {width} x {height}"
    if fitted is None:
        report(f"{sizes}, another shape: they are used as they are, and the points may be off")
        return replace(camera, width=width, height=height)
    report(f"{sizes}: they are scaled")
    return fitted


def lines_of(result: ProjectionResult, out: str) -> Iterator[str]:
    """The points, the stamps and how far apart they are, and by what the points were placed."""
    laser, camera = result.laser.spec.topic, result.camera.spec.topic
    shown, points = int(result.projection.is_visible.sum()), len(result.projection.is_visible)
    yield f"{out}: {shown} of {points} points of {laser} in {camera}"
    stamp_ns = result.image.stamp_ns
    start = f"{(stamp_ns - result.start_ns) / NS_PER_S:.6f} s"
    distance = time_difference_text(stamp_ns, result.requested_ns, "the requested time")
    yield f"  image    {time_text(stamp_ns)}, {start}, {distance}"
    nearest = min(result.scans, key=lambda scan: abs(scan.stamp_ns - stamp_ns))
    yield f"  scan     {time_text(nearest.stamp_ns)}, {time_difference_text(nearest.stamp_ns, stamp_ns, 'the image')}"
    if len(result.scans) > 1:
        distances = (time_difference_text(result.scans[index].stamp_ns, stamp_ns, "it") for index in (0, -1))
        yield f"           with {len(result.scans) - 1} more, from {' to '.join(distances)}"
    yield f"  placed   {_placement_text(result)}"


def _placement_text(result: ProjectionResult) -> str:
    laser, camera = result.laser.spec.frame, result.camera.spec.frame
    own, tf = f"by the dataset's own row for {laser} in {camera}", f"by tf from {laser} to {camera}"
    text = own if result.extrinsics == OWN else tf
    if not result.motion.frame:
        return f"{text}; motion compensation is disabled"
    return f"{text}; motion of up to {result.motion.moved_m:.3f} m in {result.motion.frame} is compensated"


def caption_of(result: ProjectionResult) -> str:
    """A line in the image, without signs that its letters lack."""
    stamp_ns = result.image.stamp_ns
    nearest = min((scan.stamp_ns - stamp_ns for scan in result.scans), key=abs) / NS_PER_S
    scans = f"{len(result.scans)} scans" if len(result.scans) > 1 else "scan"
    seconds = (stamp_ns - result.start_ns) / NS_PER_S
    return f"{result.laser.spec.frame} in {result.camera.spec.frame}, {seconds:.3f} s, {scans} {nearest * 1e3:+.0f} ms"


def overlay_parameters(spec: DatasetSpec, pair: str, *, image_format: str) -> dict[str, Any]:
    """The node's parameters for a pair `LASER,CAMERA`, the images sent as raw, compressed or both."""
    laser, comma, camera = (word.strip() for word in pair.partition(","))
    if not (laser and comma and camera):
        raise UsageError(f"overlay: expected LASER,CAMERA, got '{pair}'")
    ids = {stream.id for stream in spec.streams}
    points, images = laser_stream(spec, laser, ids), camera_stream(spec, camera, ids)
    parameters: dict[str, Any] = {
        "scan" if points.type == SCAN else "cloud": points.topic,
        "image": f"{images.topic}/compressed" if image_format == "compressed" else images.topic,
    }
    own = own_transform(spec, images.frame, points.frame)
    return parameters if own is None else {**parameters, "camera_t_sensor": own.reshape(-1).tolist()}
