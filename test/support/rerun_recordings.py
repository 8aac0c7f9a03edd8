"""What is in a file of Rerun, by the SDK's own reader; and what messages should have become."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from rerun.chunk import RrdReader

from support.archive_messages import xyz, xyzw

Rows = list[tuple[int, Any]]  # times and values, in the order of time
ROOM = 1e-6  # of a length: Rerun's places are numbers of 32 bits
COVARIANT = ("nav_msgs/msg/Odometry", "geometry_msgs/msg/PoseWithCovarianceStamped")


def entities_of(path: Path) -> dict[str, dict[str, Rows]]:
    """All columns of all entities; what holds for ever has the time 0."""
    by_name: dict[str, dict[str, Rows]] = defaultdict(lambda: defaultdict(list))
    for chunk in RrdReader(path).stream():
        batch = chunk.to_record_batch()
        names = [name for name in batch.schema.names if ":" in name]
        times = [0] * chunk.num_rows if chunk.is_static else batch.column("time").cast("int64").to_pylist()
        for name in names:
            values = batch.column(name)
            rows = ((time, values[row].as_py()) for row, time in enumerate(times) if values[row].is_valid)
            by_name[chunk.entity_path][name] += rows
    return {
        entity: {name: sorted(rows, key=lambda row: row[0]) for name, rows in columns.items()}
        for entity, columns in by_name.items()
    }


def blueprints_of(path: Path) -> int:
    return len(RrdReader(path).blueprints())


def fields(*paths: str) -> Callable[[Any], list[float]]:
    """The numbers at these places of a message, those of a vector together."""

    def read(message: Any) -> list[float]:
        values: list[float] = []
        for path in paths:
            value = message
            for name in path.split("."):
                value = getattr(value, name)
            values += xyz(value) if hasattr(value, "z") else np.atleast_1d(value).tolist()
        return values

    return read


CURVES: Mapping[str, Mapping[str, Callable[[Any], list[float]]]] = {
    "sensor_msgs/msg/Imu": {"/turn_rate": fields("angular_velocity"), "/acceleration": fields("linear_acceleration")},
    "sensor_msgs/msg/MagneticField": {"/magnetic_field": fields("magnetic_field")},
    "sensor_msgs/msg/Temperature": {"/temperature": fields("temperature")},
    "sensor_msgs/msg/FluidPressure": {"/pressure": fields("fluid_pressure")},
    "sensor_msgs/msg/JointState": {
        "/position": fields("position"), "/velocity": fields("velocity"), "/effort": fields("effort"),
    },
    "sensor_msgs/msg/BatteryState": {"/voltage": fields("voltage")},
    "nav_msgs/msg/Odometry": {
        "/velocity": fields("twist.twist.linear"), "/turn_rate": fields("twist.twist.angular"),
    },
    "geometry_msgs/msg/TwistWithCovarianceStamped": {"/velocity": fields("twist.twist.linear")},
    "geometry_msgs/msg/TwistStamped": {"/velocity": fields("twist.linear")},
    "geometry_msgs/msg/AccelStamped": {"/acceleration": fields("accel.linear")},
    "geometry_msgs/msg/WrenchStamped": {"/force": fields("wrench.force")},
    "geometry_msgs/msg/Vector3Stamped": {"": fields("vector")},
    "std_msgs/msg/UInt8": {"": fields("data")},
    **{f"std_msgs/msg/{name}": {"": fields("data")} for name in ("Float32", "Float64")},
    "std_msgs/msg/Float64MultiArray": {"": fields("data")},
    "sensor_msgs/msg/TimeReference": {"": lambda m: [_ns(m.time_ref) / 1e9 - _ns(m.header.stamp) / 1e9]},
}  # fmt: skip


def _ns(time: Any) -> int:
    return int(time.sec) * 10**9 + int(time.nanosec)


def check_topic(entities: Mapping[str, Mapping[str, Rows]], topic: str, messages: Rows) -> int:
    """Assert that all messages of a topic are there; how many columns were looked at."""
    msgtype = messages[0][1].__msgtype__
    looked = 0
    for below, read in CURVES.get(msgtype, {}).items():
        requested = [(time, read(message)) for time, message in messages]
        if any(values for _, values in requested):
            _equal(entities[topic + below]["Scalars:scalars"], requested, topic + below)
            looked += 1
    check = CHECKS.get(msgtype)
    if check is not None:
        check(entities, topic, messages)
        looked += 1
    return looked


def _equal(got: Rows, requested: Rows, position: str) -> None:
    assert [time for time, _ in got] == [time for time, _ in requested], position
    for (_, values), (time, expected) in zip(got, requested, strict=True):
        room = ROOM * max(1.0, float(np.abs(np.nan_to_num(expected)).max(initial=0)))
        np.testing.assert_allclose(values, expected, rtol=0, atol=room, err_msg=f"{position} at {time}")


def _check_fix(entities: Mapping[str, Mapping[str, Rows]], topic: str, messages: Rows) -> None:
    requested = [(t, [[m.latitude, m.longitude]] if np.isfinite(m.latitude) else []) for t, m in messages]
    assert entities[topic]["GeoPoints:positions"] == requested


def _check_image(entities: Mapping[str, Mapping[str, Rows]], topic: str, messages: Rows) -> None:
    requested = [(time, message.data.tobytes()) for time, message in messages]
    assert [(t, bytes(blob)) for t, (blob,) in entities[topic]["EncodedImage:blob"]] == requested


def _check_pixels(entities: Mapping[str, Mapping[str, Rows]], topic: str, messages: Rows) -> None:
    kind = "DepthImage" if messages[0][1].encoding in ("32FC1", "16UC1") else "Image"
    requested = [(time, _pixels(message)) for time, message in messages]
    assert [(t, bytes(data)) for t, (data,) in entities[topic][f"{kind}:buffer"]] == requested
    sizes = [(shape["width"], shape["height"]) for _, (shape,) in entities[topic][f"{kind}:format"]]
    assert sizes == [(message.width, message.height) for _, message in messages]


def _pixels(message: Any) -> bytes:
    """Without what fills up the rows."""
    size = {"mono8": 1, "bgr8": 3, "rgb8": 3, "32FC1": 4, "16UC1": 2}[message.encoding]
    rows = message.data.reshape(message.height, message.step)[:, : message.width * size]
    return bytes(rows.tobytes())


def _check_camera(entities: Mapping[str, Mapping[str, Rows]], topic: str, messages: Rows) -> None:
    columns = entities[topic]
    got = [(t, np.reshape(matrix, (3, 3)).T.ravel()) for t, (matrix,) in columns["Pinhole:image_from_camera"]]
    _equal(got, [(time, [*m.k[:2].tolist(), *m.k[2:].tolist()]) for time, m in messages], topic)
    assert {frame for _, (frame,) in columns["Pinhole:parent_frame"]} == {messages[0][1].header.frame_id}


def _check_cloud(entities: Mapping[str, Mapping[str, Rows]], topic: str, messages: Rows) -> None:
    requested = [(time, _points(message)) for time, message in messages]
    _equal(entities[topic]["Points3D:positions"], requested, topic)
    counts = [len(colours) for _, colours in entities[topic]["Points3D:colors"]]
    assert counts == [len(points) for _, points in requested]


def _points(message: Any) -> Any:
    offsets = {field.name: field.offset for field in message.fields}
    rows = message.data.reshape(-1, message.point_step)
    columns = [rows[:, offsets[axis] : offsets[axis] + 4].copy().view("<f4").ravel() for axis in "xyz"]
    points = np.stack(columns, axis=1)
    return points[np.isfinite(points).all(axis=1)]


def _check_scan(entities: Mapping[str, Mapping[str, Rows]], topic: str, messages: Rows) -> None:
    requested = []
    for time, message in messages:
        angles = message.angle_min + message.angle_increment * np.arange(len(message.ranges))
        ranges = np.asarray(message.ranges, np.float64)
        remaining = np.isfinite(ranges) & (ranges >= message.range_min) & (ranges <= message.range_max) & (ranges > 0)
        points = np.stack([ranges * np.cos(angles), ranges * np.sin(angles), 0 * ranges], axis=1)
        requested.append((time, points[remaining]))
    _equal(entities[topic]["Points3D:positions"], requested, topic)


def _check_pose(entities: Mapping[str, Mapping[str, Rows]], topic: str, messages: Rows) -> None:
    nested = messages[0][1].__msgtype__ in COVARIANT
    poses = [(time, message.pose.pose if nested else message.pose) for time, message in messages]
    _equal(entities[topic]["Arrows3D:origins"], [(time, [xyz(pose.position)]) for time, pose in poses], topic)
    assert entities[topic]["CoordinateFrame:frame"][0] == (0, [messages[0][1].header.frame_id])


def _check_poses(entities: Mapping[str, Mapping[str, Rows]], topic: str, messages: Rows) -> None:
    requested = [(time, [xyz(pose.position) for pose in message.poses]) for time, message in messages]
    _equal(entities[topic]["Arrows3D:origins"], requested, topic)


def _check_path(entities: Mapping[str, Mapping[str, Rows]], topic: str, messages: Rows) -> None:
    got = entities[topic]["LineStrips3D:strips"]
    requested = [(time, [xyz(pose.pose.position) for pose in message.poses]) for time, message in messages]
    assert all(len(strips) == 1 for _, strips in got)
    _equal([(time, strips[0]) for time, strips in got], requested, topic)


def _check_transforms(entities: Mapping[str, Mapping[str, Rows]], topic: str, messages: Rows) -> None:
    is_static = topic.endswith("tf_static")
    requested: dict[tuple[str, str], Rows] = defaultdict(list)
    for time, message in messages:
        for one in message.transforms:
            values = xyz(one.transform.translation), xyzw(one.transform.rotation)
            requested[one.header.frame_id, one.child_frame_id].append((0 if is_static else time, values))
    assert len(requested)
    for (parent, child), rows in requested.items():
        columns = entities[f"{'/tf_static' if is_static else '/tf'}/{child}"]
        assert {frame for _, (frame,) in columns["Transform3D:parent_frame"]} == {parent}
        rows = sorted(rows, key=lambda row: row[0])
        for index, name in enumerate(("Transform3D:translation", "Transform3D:quaternion")):
            _equal(columns[name], [(time, [values[index]]) for time, values in rows], f"{parent} to {child}")


CHECKS: Mapping[str, Callable[[Mapping[str, Mapping[str, Rows]], str, Rows], None]] = {
    "sensor_msgs/msg/NavSatFix": _check_fix,
    "sensor_msgs/msg/CompressedImage": _check_image,
    "sensor_msgs/msg/Image": _check_pixels,
    "sensor_msgs/msg/CameraInfo": _check_camera,
    "sensor_msgs/msg/PointCloud2": _check_cloud,
    "sensor_msgs/msg/LaserScan": _check_scan,
    "nav_msgs/msg/Odometry": _check_pose,
    "nav_msgs/msg/Path": _check_path,
    "geometry_msgs/msg/PoseStamped": _check_pose,
    "geometry_msgs/msg/PoseWithCovarianceStamped": _check_pose,
    "geometry_msgs/msg/PoseArray": _check_poses,
    "tf2_msgs/msg/TFMessage": _check_transforms,
}


def texts_of(entities: Mapping[str, Mapping[str, Rows]], entity: str) -> Iterator[tuple[int, str]]:
    for time, (text,) in entities[entity]["TextLog:text"]:
        yield time, text
