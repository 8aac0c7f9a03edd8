"""The authors' bags of Rosario: the same streams as from the raw folder, with frames that exist."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldplay.bags.bag_stream import (
    NUMBER_ROWS,
    PICTURE_ROWS,
    Convert,
    InvalidValue,
    Judge,
    TopicImages,
    TopicNumbers,
    accept_all,
)
from fieldplay.bags.bag_topics import Bag, TopicReader, topic_in_time
from fieldplay.core.errors import ArchiveError, Defect, Report
from fieldplay.datasets.archive import Archive
from fieldplay.datasets.rosario.calibration import LEFT, RIGHT
from fieldplay.datasets.rosario.raw_folder import (
    GBAS_FIX,
    NO_FIX,
    SBAS_FIX,
    fix_covariances,
    imu_covariances,
    with_known_heights,
)
from fieldplay.datasets.spec import Extrinsic
from fieldplay.geometry import axes
from fieldplay.geometry.camera_model import CameraModel
from fieldplay.io.calibration_files import ROTATION_ERROR
from fieldplay.messages import records
from fieldplay.messages.cdr_layout import Layout, layout_of_message
from fieldplay.messages.message_columns import FieldNumbers

IMAGE, INFO, TF = "sensor_msgs/msg/Image", "sensor_msgs/msg/CameraInfo", "TFMessage"
TOPICS = {  # without leading slashes: the stream, the type
    "stereo/left/image_raw": ("left", IMAGE),
    "stereo/right/image_raw": ("right", IMAGE),
    "imu": ("imu", "sensor_msgs/msg/Imu"),
    "gps/fix": ("fix", "sensor_msgs/msg/NavSatFix"),
    "gps/vel": ("velocity", "geometry_msgs/msg/TwistStamped"),
    "odom": ("odom_archived", "nav_msgs/msg/Odometry"),
}
CAMERA_INFOS = {"stereo/left/camera_info": LEFT, "stereo/right/camera_info": RIGHT}
TRANSFORMS = ("tf_static", "tf")
KNOWN = {*TOPICS, *CAMERA_INFOS, *TRANSFORMS}
IMAGE_TOPICS = {name for name, (_, msgtype) in TOPICS.items() if msgtype == IMAGE}
FRAMES = {"left": LEFT, "stereo/left": LEFT, "right": RIGHT, "stereo/right": RIGHT}  # and all others as they are
VECTORS = {
    "imu": ("angular_velocity.{}", "linear_acceleration.{}"),
    "velocity": ("twist.linear.{}", "twist.angular.{}"),
    "odom_archived": ("pose.pose.position.{}", "twist.twist.linear.{}", "twist.twist.angular.{}"),
}
OTHERS = {
    "fix": ("latitude", "longitude", "altitude", "status.status", "position_covariance"),
    "odom_archived": (*(f"pose.pose.orientation.{axis}" for axis in "xyzw"), "pose.covariance", "twist.covariance"),
}
PERHAPS = {"fix": ("latitude", "longitude", "altitude")}  # NaN where there is no fix, or it is in the plane
COVARIANCES = {"fix": ("position_covariance",), "odom_archived": ("pose.covariance", "twist.covariance")}
TURN_LENGTH = (0.9, 1.1)  # of a quaternion that is rounded
QUALITY_OF_STATUS = {0: 1, SBAS_FIX: 2, GBAS_FIX: 5}  # RTK of either kind: the bag does not distinguish them
LARGEST_DEG = (90.0, 180.0)
SIDEWAYS_M_S = 1e-6  # a twist in the body of a car has no such part

Floats = NDArray[np.float64]
Stamps = NDArray[np.int64]


def streams_of_bag(archive: Archive, bag: Bag) -> dict[str, TopicNumbers | TopicImages]:
    """The streams that a bag has."""
    names = {topic.lstrip("/"): topic for topic in bag.kinds}
    _note_others(archive, bag, names)
    streams: dict[str, TopicNumbers | TopicImages] = {}
    for name, (stream, msgtype) in TOPICS.items():
        if name in names and _is_of_type(archive, bag, names[name], msgtype):
            rows = PICTURE_ROWS if msgtype == IMAGE else NUMBER_ROWS
            topic = topic_in_time(bag, names[name], rows, archive.notes.append)
            if topic.spans:
                streams[stream] = (
                    TopicImages(topic, bag.name) if msgtype == IMAGE else _numbers(archive, bag, topic, stream=stream)
                )
        if stream not in streams:
            message = f"expected the topic /{name} with messages, got none; the rest plays"
            archive.defects(Defect(file=bag.name, kind="missing_topic", stream=stream, message=message))
    return streams


def cameras_of_bag(archive: Archive, bag: Bag) -> dict[str, CameraModel]:
    """The cameras as the bag's CameraInfo have them, in whichever of their generations."""
    names = {topic.lstrip("/"): topic for topic in bag.kinds}
    cameras = {
        camera: _camera(archive, bag, names[name])
        for name, camera in CAMERA_INFOS.items()
        if name in names and _is_of_type(archive, bag, names[name], INFO)
    }
    return {name: camera for name, camera in cameras.items() if camera is not None}


def extrinsics_of_bag(archive: Archive, bag: Bag) -> list[Extrinsic]:
    """The bag's static transforms, which it repeats again and again."""
    names = {topic.lstrip("/"): topic for topic in bag.kinds}
    rows: list[Extrinsic] = []
    for name in TRANSFORMS:
        if name in names and _is_of_type(archive, bag, names[name], TF):
            rows += _transforms(archive, bag, names[name])
    return rows


def _note_others(archive: Archive, bag: Bag, names: Mapping[str, str]) -> None:
    others = [f"{topic} ({bag.counts[topic]})" for name, topic in names.items() if name not in KNOWN]
    if others:
        archive.notes.append(f"topics that are not of the dataset, which are not read: {', '.join(sorted(others))}")


def _is_of_type(archive: Archive, bag: Bag, topic: str, msgtype: str) -> bool:
    actual = bag.kinds[topic].msgtype
    if actual == msgtype or (msgtype == TF and actual.lower().endswith("tfmessage")):
        return True
    message = f"{topic}: expected messages of {msgtype}, got {actual}; they are not read"
    archive.defects(Defect(file=bag.name, kind="unexpected_type", message=message))
    return False


def _numbers(archive: Archive, bag: Bag, topic: TopicReader, *, stream: str) -> TopicNumbers:
    vectors = (path.format(axis) for path in VECTORS.get(stream, ()) for axis in "xyz")
    paths = (*vectors, *OTHERS.get(stream, ()))
    converters: dict[str, Convert] = {
        "imu": lambda stamps, columns: _imu(archive, stamps, columns),
        "fix": lambda stamps, columns: _fix(archive, stamps, columns), "velocity": _velocity,
        "odom_archived": _odometry,
    }  # fmt: skip

    def stream_of(convert: Convert, report: Report = archive.defects) -> TopicNumbers:
        return TopicNumbers(
            topic,
            paths,
            convert,
            bag=bag.name,
            stream=stream,
            report=report,
            optional=PERHAPS.get(stream, ()),
            covariances=COVARIANCES.get(stream, ()),
            judge=JUDGES.get(stream, accept_all),
        )

    looked_through = stream_of(converters[stream], lambda defect: None)  # errors are reported by the stream that plays
    is_moved = stream == "odom_archived" and _is_global(archive, looked_through)
    return stream_of(_odometry_of_global if is_moved else converters[stream])


def _impossible_fixes(columns: FieldNumbers) -> Iterator[InvalidValue]:
    """Places off the globe, and fixes without a place; NaN is no height, or no place where there is no fix."""
    position, height = np.stack([columns["latitude"], columns["longitude"]], axis=1), columns["altitude"][:, None]
    is_lost = np.isnan(position).all(axis=1) & (columns["status.status"] <= NO_FIX)
    on_globe = (np.abs(position) <= LARGEST_DEG).all(axis=1)
    expected = "latitude and longitude within 90 and 180 degrees"
    yield InvalidValue(~on_globe & ~is_lost, expected, position)
    yield InvalidValue(np.isinf(height[:, 0]), "an altitude in metres, or NaN for none", height)


def _impossible_orientations(columns: FieldNumbers) -> Iterator[InvalidValue]:
    quaternions = columns.vectors("pose.pose.orientation", "xyzw")
    length = np.linalg.norm(quaternions, axis=1)
    least, largest = TURN_LENGTH
    yield InvalidValue(~((length >= least) & (length <= largest)), "a quaternion of length 1", quaternions)


JUDGES: Mapping[str, Judge] = {"fix": _impossible_fixes, "odom_archived": _impossible_orientations}


def _imu(archive: Archive, stamp_ns: Stamps, columns: FieldNumbers) -> records.Imu:
    """The bags have no covariances: those of the dataset's noise are taken."""
    of_force, of_rates = imu_covariances(archive.imu_noise, len(stamp_ns))
    return records.Imu(
        stamp_ns=stamp_ns,
        angular_velocity_rad_s=columns.vectors("angular_velocity"),
        linear_acceleration_m_s2=columns.vectors("linear_acceleration"),
        angular_velocity_covariance=of_rates,
        linear_acceleration_covariance=of_force,
    )


def _fix(archive: Archive, stamp_ns: Stamps, columns: FieldNumbers) -> records.Fix:
    """The status as archived; the covariance as archived, or by the status: HDOP² stands in the archived one."""
    status = columns["status.status"].astype(np.int8)
    covariances: Floats = columns["position_covariance"].reshape(-1, 3, 3)
    if archive.parameters["fix_covariance"] == "quality":
        quality = np.select([status == key for key in QUALITY_OF_STATUS], list(QUALITY_OF_STATUS.values()), 0)
        hdop = np.sqrt(np.maximum(covariances[:, 0, 0], 0))
        deviations = {int(key): float(value) for key, value in archive.spec.constants["fix_std_m"].items()}
        covariances = fix_covariances(quality, np.where(hdop > 0, hdop, np.nan), deviations, how="quality")
    else:
        covariances = np.where((status == NO_FIX)[:, None, None], 0.0, covariances)
    return records.Fix(
        stamp_ns=stamp_ns,
        latitude_deg=columns["latitude"],
        longitude_deg=columns["longitude"],
        altitude_m=columns["altitude"],
        status=status,
        covariance_m2=with_known_heights(covariances, columns["altitude"]),
        approximate=True,
    )


def _velocity(stamp_ns: Stamps, columns: FieldNumbers) -> records.Twist:
    return records.Twist(
        stamp_ns=stamp_ns,
        linear_velocity_m_s=columns.vectors("twist.linear"),
        angular_velocity_rad_s=columns.vectors("twist.angular"),
    )


def _odometry(stamp_ns: Stamps, columns: FieldNumbers) -> records.Odometry:
    return records.Odometry(
        stamp_ns=stamp_ns,
        position_m=columns.vectors("pose.pose.position"),
        orientation_xyzw=columns.vectors("pose.pose.orientation", "xyzw"),
        pose_covariance=columns["pose.covariance"].reshape(-1, 6, 6),
        linear_velocity_m_s=columns.vectors("twist.twist.linear"),
        angular_velocity_rad_s=columns.vectors("twist.twist.angular"),
        twist_covariance=columns["twist.covariance"].reshape(-1, 6, 6),
    )


def _odometry_of_global(stamp_ns: Stamps, columns: FieldNumbers) -> records.Odometry:
    """The speed along the base instead of a velocity in odom: its length, signed by its way along the heading."""
    odometry = _odometry(stamp_ns, columns)
    forward = axes.rotate_vectors(odometry.orientation_xyzw, np.array([1.0, 0.0, 0.0]))
    along = np.sign((odometry.linear_velocity_m_s * forward).sum(axis=1))
    speed = along * np.hypot(odometry.linear_velocity_m_s[:, 0], odometry.linear_velocity_m_s[:, 1])
    zero = np.zeros_like(speed)
    return replace(odometry, linear_velocity_m_s=np.stack([speed, zero, zero], axis=1))


def _is_global(archive: Archive, stream: TopicNumbers) -> bool:
    """Whether the odometry's twist is one in odom: then it has a part along y somewhere, as no car has in itself."""
    chosen = archive.parameters["odom_twist"]
    if chosen != "auto":
        return bool(chosen == "global")
    sideways = (stream.columns(index)[1]["twist.twist.linear.y"] for index in range(len(stream.spans)))
    has_sideways = any(bool((np.abs(part) > SIDEWAYS_M_S).any()) for part in sideways)
    how = "lies in odom, as it has parts along y, and is moved into base_link" if has_sideways else "lies in base_link"
    archive.notes.append(f"the twist of {stream.topic.name} {how} (odom_twist)")
    return has_sideways


def _first_layout(archive: Archive, bag: Bag, topic: str) -> Layout | None:
    """The first message of a topic that can be read."""
    reader = bag.topic(topic, NUMBER_ROWS)
    for index in range(len(reader.spans)):
        for row in range(len(reader.stamps(index))):
            try:
                return layout_of_message(reader.message(index, row), reader.kind)
            except ArchiveError as error:
                message = f"{topic}: {error}"
                archive.defects(Defect(file=bag.name, kind="damaged_message", message=message))
                break
    return None


def _camera(archive: Archive, bag: Bag, topic: str) -> CameraModel | None:
    """The camera's numbers as the first message has them; they are the same in all."""
    layout = _first_layout(archive, bag, topic)
    if layout is None:
        return None
    numbers: dict[str, Any] = {path.lower(): layout.number(path) for path in layout.paths if "." not in path}
    k, distortion = numbers["k"], tuple(map(float, numbers["d"]))
    if not (k[0] > 0 and k[4] > 0 and len(distortion) in (0, 4, 5, 8)):
        message = f"{topic}: expected a calibrated camera, got K with fx {k[0]:g} and {len(distortion)} coefficients"
        archive.defects(Defect(file=bag.name, kind="uncalibrated_camera", message=message))
        return None
    return CameraModel(
        width=int(numbers["width"]), height=int(numbers["height"]),
        fx=float(k[0]), fy=float(k[4]), cx=float(k[2]), cy=float(k[5]),
        distortion_model=layout.text("distortion_model") or "plumb_bob", distortion=distortion,
        rectification=tuple(map(float, numbers["r"])), projection=tuple(map(float, numbers["p"])), source="the bag",
    )  # fmt: skip


def _transforms(archive: Archive, bag: Bag, topic: str) -> list[Extrinsic]:
    layout = _first_layout(archive, bag, topic)
    known = {parent: set(children) for parent, children in archive.spec.tree.items()}
    rows: list[Extrinsic] = []
    others: list[Extrinsic] = []
    for row in _rows_of(layout) if layout is not None else ():
        is_turn = abs(np.linalg.norm(row.rotation) - 1) < ROTATION_ERROR
        (rows if row.child in known.get(row.parent, ()) and is_turn else others).append(row)
    if others:
        names = ", ".join(f"{row.parent} -> {row.child}" for row in others)
        archive.notes.append(f"transforms of {topic} that are not of the dataset, which are not read: {names}")
    if rows:
        names = ", ".join(f"{row.parent} -> {row.child}" for row in rows)
        archive.notes.append(f"{names}: as in the bag's {topic}")
    return rows


def _rows_of(layout: Layout) -> Sequence[Extrinsic]:
    rows: list[Extrinsic] = []
    while (path := f"transforms[{len(rows)}]") + ".child_frame_id" in layout.constants:
        frames = (layout.text(f"{path}.{name}").lstrip("/") for name in ("header.frame_id", "child_frame_id"))
        parent, child = (FRAMES.get(frame, frame) for frame in frames)
        x, y, z = (float(layout.number(f"{path}.transform.translation.{axis}")) for axis in "xyz")
        quaternion = tuple(float(layout.number(f"{path}.transform.rotation.{axis}")) for axis in "xyzw")
        rows.append(
            Extrinsic(
                parent=parent, child=child, convention="m_quaternion_xyzw", translation=(x, y, z), rotation=quaternion
            )
        )
    return rows
