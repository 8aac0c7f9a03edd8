"""The node as others see it, in this process: what it makes of scans and a radar's clouds, and of time that jumps."""

from typing import Any

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import Quaternion, TransformStamped
from rclpy.parameter import Parameter
from rclpy.qos import DurabilityPolicy, QoSProfile
from sensor_msgs.msg import LaserScan, PointCloud2, PointField
from std_msgs.msg import Float32
from tf2_msgs.msg import TFMessage

from fieldplay.dust.classify import filter_ranges, integrity_from_scans
from fieldplay.dust.radar_returns import RadarViews, mounting_from_base, nearest_from_returns
from fieldplay.dust.scans import IntegritySettings, Scans, scans_from_messages
from fieldplay.dust.sensor_integrity import SensorIntegrity
from fieldplay.geometry.transforms import quaternion_from_rotation
from fieldplay_ros.computation_node import ComputationNode
from fieldplay_ros.programs import program
from fieldplay_testing.hazy_scene import LASER, PORT, RADAR, Air, Array, Yard, scans_of, turns_of
from fieldplay_testing.nodes.node_stage import NodeStage, ros_fixture, stage_fixture

LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
SETTINGS = IntegritySettings(window_s=0.5, report_s=0.4, least_judged=50)
PARAMETERS = {"window_s": 0.5, "report_s": 0.4, "least_judged": 50}
DUSTY = Yard(air=Air(dust_per_m=0.3))
SECONDS = 1.5
LIMITS_M = (0.05, 81.0)


def stamped_scan(message: Any, stamp_ns: int, frame: str) -> Any:
    message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp_ns, 10**9)
    message.header.frame_id = frame
    return message


def scan_messages(scans: Scans, frame: str) -> list[LaserScan]:
    messages = []
    for row, stamp_ns in enumerate(scans.stamp_ns.tolist()):
        count = 181 if row % 4 == 0 else 180
        message = LaserScan(
            angle_min=scans.angle_min_rad[row],
            angle_max=scans.angle_min_rad[row] + (count - 1) * scans.angle_increment_rad[row],
            angle_increment=scans.angle_increment_rad[row],
            range_min=LIMITS_M[0],
            range_max=LIMITS_M[1],
            ranges=scans.ranges_m[row, :count].astype(np.float32),
        )
        messages.append(stamped_scan(message, stamp_ns, frame))
    return messages


def cloud_messages(stamps: np.ndarray, turns: list[Array], frame: str) -> list[PointCloud2]:
    fields = [PointField(name=axis, offset=4 * i, datatype=PointField.FLOAT32, count=1) for i, axis in enumerate("xyz")]
    messages = []
    for stamp_ns, points in zip(stamps.tolist(), turns, strict=True):
        data = points.astype("<f4").tobytes()
        size = {"height": 1, "width": len(points), "point_step": 12, "row_step": len(data)}
        message = PointCloud2(fields=fields, data=data, is_dense=True, **size)
        messages.append(stamped_scan(message, stamp_ns, frame))
    return messages


def tree(**frames: Array) -> TFMessage:
    message = TFMessage()
    for child, pose in frames.items():
        edge = TransformStamped(child_frame_id=f"robot/{child}")
        edge.header.frame_id = "robot/base_link"
        translation = edge.transform.translation
        translation.x, translation.y, translation.z = pose[:3, 3].tolist()
        x, y, z, w = quaternion_from_rotation(pose[:3, :3]).tolist()
        edge.transform.rotation = Quaternion(x=x, y=y, z=z, w=w)
        message.transforms.append(edge)
    return message


class Stage(NodeStage):
    """The node under test, one that plays and listens, and what both turn on."""

    def __init__(self) -> None:
        super().__init__("yard")
        self.tf = self.listener.create_publisher(TFMessage, "/tf_static", LATCHED)
        self.radar = self.listener.create_publisher(PointCloud2, "radar/points", 500)
        self.received: dict[str, list[Any]] = {}
        self.lasers: dict[str, Any] = {}
        for name in ("front", "left"):
            self.lasers[name] = self.listener.create_publisher(LaserScan, f"{name}/scan", 500)
            kinds = {"scan_filtered": LaserScan, "suspect_ratio": Float32, "integrity": DiagnosticArray}
            for topic, kind in kinds.items():
                received = self.received.setdefault(f"{name}/{topic}", [])
                self.listener.create_subscription(kind, f"{name}/{topic}", received.append, 500)

    def start(self, **parameters: Any) -> ComputationNode:
        """Make the node under test, and wait until both hear each other."""
        settings = {"lasers": ["front", "left"], "frame_prefix": "robot/", **PARAMETERS, **parameters}
        node: ComputationNode = self.add(program("sensor_integrity").node, settings)
        self.wait(lambda: self.radar.get_subscription_count())
        for name in settings["lasers"]:
            self.wait(lambda name=name: self.lasers[name].get_subscription_count())
            self.wait(lambda name=name: self.listener.count_publishers(f"/yard/{name}/integrity"))
        return node

    def play(self, **lasers: list[LaserScan]) -> None:
        """The radar's clouds of the dusty yard first, then scans, and wait until all of these have come through."""
        clouds = cloud_messages(*turns_of(DUSTY, SECONDS), "robot/radar")
        requested = {
            topic: len(self.received[topic]) + len(scans)
            for name, scans in lasers.items()
            for topic in (f"{name}/scan_filtered", f"{name}/suspect_ratio")
        }
        for cloud in clouds:
            self.radar.publish(cloud)
        for row in range(max(map(len, lasers.values()))):
            for name, scans in lasers.items():
                self.lasers[name].publish(scans[row])
            self.executor.spin_once(timeout_sec=0.0)
        self.wait(lambda: all(len(self.received[topic]) == count for topic, count in requested.items()))


ros = ros_fixture()
stage = stage_fixture(Stage)


def test_each_scan_comes_back_filtered_as_in_batch(stage: Stage) -> None:
    stage.start()
    stage.tf.publish(tree(front=LASER, left=PORT, radar=RADAR))
    mounted = {"front": LASER, "left": PORT}
    seen = {name: scans_of(DUSTY, SECONDS, laser)[0] for name, laser in mounted.items()}
    stage.play(**{name: scan_messages(scans, f"robot/{name}") for name, scans in seen.items()})
    stage.wait(
        lambda: all(len(received) == 3 for topic, received in stage.received.items() if topic.endswith("integrity"))
    )
    stamps, turns = turns_of(DUSTY, SECONDS)
    single = [turn.astype(np.float32).astype(np.float64) for turn in turns]
    views = RadarViews(stamp_ns=stamps, nearest_m=np.stack([nearest_from_returns(SETTINGS, turn) for turn in single]))
    for name, laser in mounted.items():
        limits = tuple(np.full(len(seen[name]), limit) for limit in LIMITS_M)
        scans = scans_from_messages(
            seen[name].stamp_ns, seen[name].angle_min_rad, seen[name].angle_increment_rad,
            ranges_m=seen[name].ranges_m, limits_m=(limits[0], limits[1]),
        )  # fmt: skip
        batch = integrity_from_scans(SETTINGS, None, scans, views=views, mounting=mounting_from_base(laser, RADAR))
        filtered = filter_ranges(seen[name].ranges_m, batch.outcomes).astype(np.float32)
        assert np.isnan(filtered).sum() > np.isnan(seen[name].ranges_m).sum() + 1000
        received = stage.received[f"{name}/scan_filtered"]
        for row, message in enumerate(received):
            assert np.array_equal(message.ranges, filtered[row, : len(message.ranges)], equal_nan=True)
            assert message.header.frame_id == f"robot/{name}"
            assert message.header.stamp.sec * 10**9 + message.header.stamp.nanosec == scans.stamp_ns[row]
        fractions = [message.data for message in stage.received[f"{name}/suspect_ratio"]]
        assert fractions == pytest.approx(batch.rates.suspect, abs=1e-6)
        statuses = [message.status[0] for message in stage.received[f"{name}/integrity"]]
        assert [(status.name, status.message) for status in statuses] == [
            (name, each.verdict) for each in batch.reports
        ]
        assert statuses[-1].message == "dust or smoke" and statuses[-1].level == b"\x01"
        assert [[(v.key, v.value) for v in s.values] for s in statuses] == [list(each.values) for each in batch.reports]


def test_scans_wait_for_sensor_transforms(stage: Stage) -> None:
    node = stage.start(lasers=["front"])
    scans = scan_messages(scans_of(DUSTY, 0.2)[0], "robot/front")
    clouds = cloud_messages(*turns_of(DUSTY, 0.2), "robot/radar")
    stage.radar.publish(clouds[0])
    for message in scans:
        stage.lasers["front"].publish(message)
    (front,) = node.computations
    assert isinstance(front, SensorIntegrity)
    stage.wait(lambda: front.waiting == len(scans))
    assert not stage.received["front/scan_filtered"]
    stage.tf.publish(tree(front=LASER, radar=RADAR))

    def all_are_back() -> bool:
        stage.radar.publish(clouds[0])  # what comes next looks whether tf is there
        return len(stage.received["front/scan_filtered"]) == len(scans)

    stage.wait(all_are_back)
    stamps = [message.header.stamp.nanosec for message in stage.received["front/scan_filtered"]]
    assert stamps == [message.header.stamp.nanosec for message in scans]


def test_backward_stamp_jump_resets_node(stage: Stage) -> None:
    stage.start(lasers=["front"])
    stage.tf.publish(tree(front=LASER, radar=RADAR))
    scans = scan_messages(scans_of(DUSTY, SECONDS)[0], "robot/front")
    stage.play(front=scans)
    stage.play(front=scans)
    first, second = np.split(np.array([message.data for message in stage.received["front/suspect_ratio"]]), 2)
    assert np.array_equal(first, second)
    assert first.max() > 0.2


def test_invalid_scan_is_skipped(stage: Stage) -> None:
    stage.start(lasers=["front"])
    stage.tf.publish(tree(front=LASER, radar=RADAR))
    scans = scan_messages(scans_of(DUSTY, 0.2)[0], "robot/front")
    for wrong in ({"ranges": []}, {"angle_increment": 0.0}, {"angle_min": float("nan")}):
        (message,) = scan_messages(scans_of(DUSTY, 0.2)[0].only(slice(0, 1)), "robot/front")
        for name, value in wrong.items():
            setattr(message, name, value)
        stage.lasers["front"].publish(message)
    stage.play(front=scans)
    assert len(stage.received["front/scan_filtered"]) == len(scans)


@pytest.mark.parametrize(("name", "value"), [("window_s", 0.0), ("tolerance_m", -0.1)])
def test_invalid_parameters_are_rejected(ros: None, name: str, value: float) -> None:
    with pytest.raises(ValueError, match=f"{name}: expected"):
        program("sensor_integrity").node(parameter_overrides=[Parameter(name, value=value)])
