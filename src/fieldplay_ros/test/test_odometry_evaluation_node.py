"""The node as others see it, in this process."""

from typing import Any

import numpy as np
import pytest
import rclpy
from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import Point, Pose, PoseStamped, Quaternion, TransformStamped
from nav_msgs.msg import Odometry, Path
from rclpy.parameter import Parameter
from rclpy.qos import DurabilityPolicy, QoSProfile
from scipy.spatial.transform import Rotation
from std_msgs.msg import Float64
from tf2_msgs.msg import TFMessage

from fieldplay.geometry.transforms import quaternion_from_rotation
from fieldplay.trajectories.evaluation import EvaluationSettings, states_of_evaluation
from fieldplay.trajectories.odometry_evaluation import OdometryEvaluation, RunningEvaluation
from fieldplay_ros.computation_node import ComputationNode
from fieldplay_ros.programs import program
from fieldplay_testing.nodes.node_stage import NodeStage, ros_fixture, stage_fixture
from fieldplay_testing.reference_trajectories import (
    Array,
    drift_trajectory,
    transforms,
    wander,
)

LATCHED = QoSProfile(depth=10, durability=DurabilityPolicy.TRANSIENT_LOCAL)
START = 1_543_311_000 * 10**9
STEP = 50_000_000
TRUTH = wander(200, step_m=0.05)
ESTIMATE = drift_trajectory(TRUTH)
LENGTHS = [1.0, 2.0]
BODY_T_UNIT = transforms(Rotation.from_euler("xyz", [[np.pi, 0, 0.5]]), np.array([[-0.4, 0.1, 0.53]]))[0]


class Stage(NodeStage):
    """The node under test, one that listens to it, and what both turn on."""

    def __init__(self) -> None:
        super().__init__("rover")
        self.errors: list[Float64] = []
        self.statistics: list[DiagnosticArray] = []
        self.paths: list[Path] = []
        self.truths: list[Path] = []
        listen = self.listener.create_subscription
        listen(Float64, "evaluation/position_error", self.errors.append, 100)
        listen(DiagnosticArray, "evaluation/statistics", self.statistics.append, 100)
        listen(Path, "evaluation/path", self.paths.append, LATCHED)
        listen(Path, "evaluation/truth_path", self.truths.append, LATCHED)
        self.estimate = self.listener.create_publisher(Odometry, "wheel_odom", 500)
        self.truth = self.listener.create_publisher(Odometry, "dgps/odom", 500)
        self.pose = self.listener.create_publisher(PoseStamped, "dgps/pose", 500)
        self.static = self.listener.create_publisher(TFMessage, "/tf_static", LATCHED)

    def start(self, **parameters: Any) -> ComputationNode:
        """Make the node under test, and wait until both hear each other."""
        settings = {"estimate": "wheel_odom", "truth": "dgps/odom", "lengths_m": LENGTHS, **parameters}
        node: ComputationNode = self.add(program("odometry_evaluation").node, settings)
        truth = self.pose if settings["truth"] == "dgps/pose" else self.truth
        self.wait(lambda: self.estimate.get_subscription_count() and truth.get_subscription_count())
        self.wait(lambda: self.listener.count_publishers("/rover/evaluation/truth_path"))
        return node

    def drive(self, rows: range, *, truth: Array = TRUTH, child: str = "base_link", start_ns: int = START) -> None:
        """Poses of both."""
        for row in rows:
            stamp_ns = start_ns + row * STEP
            self.estimate.publish(odometry(ESTIMATE[row], stamp_ns, ("odom", "base_link")))
            self.truth.publish(odometry(truth[row], stamp_ns, ("map", child)))


def last_of(node: ComputationNode) -> dict[str, int]:
    (evaluation,) = node.computations
    assert isinstance(evaluation, OdometryEvaluation)
    return evaluation.last_of


def buffer_of(node: ComputationNode) -> Any:
    assert node.links is not None
    return node.links.buffer


def stamp_of(stamp_ns: int) -> Time:
    sec, nanosec = divmod(stamp_ns, 10**9)
    return Time(sec=sec, nanosec=nanosec)


def pose_message(transform: Array) -> Pose:
    position, turn = transform[:3, 3].tolist(), quaternion_from_rotation(transform[:3, :3]).tolist()
    at, as_turned = (dict(zip(names, values, strict=True)) for names, values in (("xyz", position), ("xyzw", turn)))
    return Pose(position=Point(**at), orientation=Quaternion(**as_turned))


def transform_message(parent: str, child: str, transform: Array, stamp: Time) -> TransformStamped:
    message, pose = TransformStamped(child_frame_id=child), pose_message(transform)
    message.header.frame_id, message.header.stamp = parent, stamp
    translation = message.transform.translation
    translation.x, translation.y, translation.z = pose.position.x, pose.position.y, pose.position.z
    message.transform.rotation = pose.orientation
    return message


def odometry(pose: Array, stamp_ns: int, frames: tuple[str, str]) -> Odometry:
    message = Odometry(child_frame_id=frames[1])
    message.header.frame_id, message.header.stamp = frames[0], stamp_of(stamp_ns)
    message.pose.pose = pose_message(pose)
    return message


ros = ros_fixture()
stage = stage_fixture(Stage)


def finite_reports(truth: Array = TRUTH) -> list[Any]:
    state = RunningEvaluation(EvaluationSettings(lengths_m=tuple(LENGTHS)))
    for row in range(200):
        state.add_estimate(START + row * STEP, ESTIMATE[row])
        state.add_truth(START + row * STEP, truth[row])
    return state.reports()


def test_status_each_second_matches_evaluation_functions(stage: Stage) -> None:
    stage.start()
    stage.drive(range(200))
    stage.wait(lambda: len(stage.errors) == len(stage.statistics) == len(stage.paths) == 9)
    known = finite_reports()
    assert [error.data for error in stage.errors] == pytest.approx([one.position_error_m for one in known])
    for message, report in zip(stage.statistics, known, strict=True):
        assert message.header.stamp == stamp_of(report.stamp_ns)
        for status, (name, _, values) in zip(
            message.status, states_of_evaluation("wheel_odom", report.evaluation), strict=True
        ):
            assert status.name == name and status.message.startswith("rmse ")
            assert [value.key for value in status.values] == [key for key, _ in values]
            reported = [float(value.value) for value in status.values]
            assert reported == pytest.approx([float(value) for _, value in values], abs=1e-9)
    assert [status.name for status in stage.statistics[-1].status] == [
        "wheel_odom: ATE",
        "wheel_odom: RPE over 1 kept pose",
        "wheel_odom: relative error over 1 m",
        "wheel_odom: relative error over 2 m",
    ]


def test_path_is_estimate_aligned_to_truth(stage: Stage) -> None:
    stage.start()
    stage.drive(range(200))
    stage.wait(lambda: len(stage.paths) == len(stage.truths) == 9)
    pairs = finite_reports()[-1].evaluation.pairs
    for path, poses in ((stage.paths[-1], pairs.estimate), (stage.truths[-1], pairs.truth)):
        assert path.header.frame_id == "map"
        positions = [(one.pose.position.x, one.pose.position.y, one.pose.position.z) for one in path.poses]
        assert np.array(positions) == pytest.approx(poses[:, :3, 3])
        assert [one.header.stamp for one in path.poses] == [stamp_of(stamp) for stamp in pairs.stamp_ns.tolist()]
    first = stage.paths[-1].poses[0].pose, stage.truths[-1].poses[0].pose
    assert first[0].position.x == pytest.approx(first[1].position.x)


def test_lever_arm_comes_from_tf_and_poses_wait_for_it(stage: Stage) -> None:
    node = stage.start()
    stage.drive(range(200), truth=TRUTH @ BODY_T_UNIT, child="dgps")
    stage.wait(lambda: set(last_of(node).values()) == {START + 199 * STEP})
    assert not stage.errors
    stage.static.publish(TFMessage(transforms=[transform_message("base_link", "dgps", BODY_T_UNIT, stamp_of(0))]))
    stage.wait(lambda: buffer_of(node).can_transform("base_link", "dgps", rclpy.time.Time()))
    stage.estimate.publish(odometry(ESTIMATE[199], START + 199 * STEP, ("odom", "base_link")))
    stage.wait(lambda: len(stage.errors) == 9)
    estimate = TRUTH[0] @ np.linalg.inv(ESTIMATE[0]) @ ESTIMATE @ BODY_T_UNIT
    distances = np.linalg.norm(estimate[:, :3, 3] - (TRUTH @ BODY_T_UNIT)[:, :3, 3], axis=1)
    assert [error.data for error in stage.errors] == pytest.approx(distances[19:199:20])


def test_late_truth_is_reported_at_once(stage: Stage) -> None:
    node = stage.start()
    for row in range(200):
        stage.estimate.publish(odometry(ESTIMATE[row], START + row * STEP, ("odom", "base_link")))
    stage.wait(lambda: last_of(node)["estimate"] == START + 199 * STEP)
    for row in range(200):
        stage.truth.publish(odometry(TRUTH[row], START + row * STEP, ("map", "base_link")))
    stage.wait(lambda: len(stage.errors) == 9)
    assert [error.data for error in stage.errors] == pytest.approx([one.position_error_m for one in finite_reports()])


def test_backward_time_jump_resets_node(stage: Stage) -> None:
    stage.start()
    stage.drive(range(200))
    stage.wait(lambda: len(stage.errors) == 9)
    stage.drive(range(100), start_ns=START - 3600 * 10**9)
    stage.wait(lambda: len(stage.errors) == 13)
    errors = [error.data for error in stage.errors]
    assert errors[9:] == pytest.approx(errors[:4])


def test_truth_may_be_poses_and_without_rotation_gives_no_rotation_error(stage: Stage) -> None:
    stage.start(truth="dgps/pose", truth_type="pose")
    for row in range(200):
        stamp = stamp_of(START + row * STEP)
        stage.estimate.publish(odometry(ESTIMATE[row], START + row * STEP, ("odom", "base_link")))
        truth = PoseStamped(pose=pose_message(TRUTH[row]))
        truth.pose.orientation.w = truth.pose.orientation.x = truth.pose.orientation.y = truth.pose.orientation.z = 0.0
        truth.header.stamp = stamp
        stage.pose.publish(truth)
    stage.wait(lambda: len(stage.statistics) == 9)
    keys = {value.key for status in stage.statistics[-1].status for value in status.values}
    assert "translation_rmse_m" in keys and not any(key.startswith("rotation") for key in keys)


@pytest.mark.parametrize(
    ("name", "value"), [("alignment", "best"), ("lengths_m", [-1.0]), ("truth_type", "speed"), ("period_s", 0.0)]
)
def test_invalid_parameters_are_rejected(ros: None, name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=f"{name.replace('truth_type', 'types')}: expected"):
        program("odometry_evaluation").node(parameter_overrides=[Parameter(name, value=value)])
