"""The transform buffer: stores transform messages, answers lookups, waits, and follows its node's clock."""

from collections.abc import Callable
from math import isnan
from threading import TIMEOUT_MAX, Condition
from time import monotonic
from typing import NoReturn, TypeAlias

from builtin_interfaces.msg import Time as TimeMsg
from geometry_msgs.msg import TransformStamped
from rclpy.clock import Clock, JumpThreshold, TimeJump
from rclpy.duration import Duration
from rclpy.logging import get_logger
from rclpy.node import Node
from rclpy.time import Time

from ._frame_graph import FrameGraph, InvalidArgumentException, TransformException
from ._pose import Pose, canonical, compose

_Attempt: TypeAlias = Callable[[], TransformStamped]

_NS_PER_S = 1_000_000_000
_NO_WAIT = Duration()
_NORMALISATION_TOLERANCE = 10e-3
"""How far the squared length of a quaternion may be from 1; upstream's figure."""

_LEFT_OUT = frozenset(
    {
        "all_frames_as_yaml",
        "can_transform_core",
        "can_transform_full",
        "can_transform_full_core",
        "get_latest_common_time",
        "lookup_transform_async",
        "lookup_transform_full_async",
        "lookupVelocityCore",
        "lookupVelocityFullCore",
        "registration",
        "transform",
        "transform_full",
        "wait_for_transform_async",
        "wait_for_transform_full_async",
    }
)


class Buffer:
    """Stores transforms and answers lookups, waiting for them on demand.

    A backward jump of the node's clock by a second or more, or a change of its source, clears the motion.
    """

    def __init__(self, cache_time: Duration | None = None, node: Node | None = None) -> None:
        """Make an empty buffer; with a node, follow that node's clock."""
        self._graph = FrameGraph(_nanoseconds(Duration(seconds=10) if cache_time is None else cache_time, "cache_time"))
        # Guards the graph; lookups wait on it for new data.
        self._changed = Condition()
        self.clock = Clock() if node is None else node.get_clock()
        threshold = JumpThreshold(min_forward=None, min_backward=Duration(seconds=-1), on_clock_change=True)
        self.jump_handle = self.clock.create_jump_callback(threshold, post_callback=self.time_jump_callback)

    def __getattr__(self, name: str) -> NoReturn:
        """Name what upstream has and this stand-in has not."""
        if name in _LEFT_OUT:
            raise AttributeError(
                f"tf2_ros.Buffer.{name} is part of upstream's tf2_ros_py, but this stand-in does not cover it"
            )
        raise AttributeError(f"tf2_ros.Buffer has no attribute {name!r}")

    def time_jump_callback(self, time_jump: TimeJump) -> None:
        """Clear the buffer: what it holds belongs to another course of time."""
        get_logger("tf2_buffer").warning("Detected jump back in time, or another time source. Clearing tf buffer.")
        self.clear()

    def set_transform(self, transform: TransformStamped, authority: str) -> None:
        """Store a moving transform. An unsound or too old one is logged and ignored, as upstream does."""
        self._insert(transform, authority, static=False)

    def set_transform_static(self, transform: TransformStamped, authority: str) -> None:
        """Store a transform that is valid at all times and survives ``clear``."""
        self._insert(transform, authority, static=True)

    def lookup_transform(
        self, target_frame: str, source_frame: str, time: Time | TimeMsg, timeout: Duration = _NO_WAIT
    ) -> TransformStamped:
        """Return target_T_source at a time (0: the latest common one), waiting up to ``timeout`` for it.

        Waiting blocks the caller: another thread must spin the node that listens.
        """
        return self._wait_for(lambda: self.lookup_transform_core(target_frame, source_frame, time), timeout)

    def lookup_transform_full(
        self,
        target_frame: str,
        target_time: Time | TimeMsg,
        source_frame: str,
        source_time: Time | TimeMsg,
        fixed_frame: str,
        timeout: Duration = _NO_WAIT,
    ) -> TransformStamped:
        """Return the target at one time from the source at another, through a frame fixed in time."""
        return self._wait_for(
            lambda: self.lookup_transform_full_core(target_frame, target_time, source_frame, source_time, fixed_frame),
            timeout,
        )

    def can_transform(
        self,
        target_frame: str,
        source_frame: str,
        time: Time | TimeMsg,
        timeout: Duration = _NO_WAIT,
        return_debug_tuple: bool = False,
    ) -> bool | tuple[bool, str]:
        """Return whether a lookup succeeds within ``timeout``; with the reason if a tuple is asked for."""
        try:
            self.lookup_transform(target_frame, source_frame, time, timeout)
        except TransformException as error:
            return (False, str(error)) if return_debug_tuple else False
        return (True, "") if return_debug_tuple else True

    def _wait_for(self, attempt: _Attempt, timeout: Duration) -> TransformStamped:
        deadline = monotonic() + timeout.nanoseconds / _NS_PER_S
        with self._changed:
            while True:
                try:
                    return attempt()
                except InvalidArgumentException:
                    raise  # no data will ever heal it
                except TransformException:
                    left = deadline - monotonic()
                    if left <= 0.0:
                        raise
                self._changed.wait(min(left, TIMEOUT_MAX))

    def lookup_transform_core(self, target_frame: str, source_frame: str, time: Time | TimeMsg) -> TransformStamped:
        """Return target_T_source at a time, or raise at once."""
        stamp_ns = _nanoseconds(time)
        with self._changed:
            self._check(target_frame=target_frame, source_frame=source_frame)
            pose, stamp_ns = self._graph.lookup(target_frame, source_frame, stamp_ns)
        return _transform_message(target_frame, source_frame, pose, stamp_ns)

    def lookup_transform_full_core(
        self,
        target_frame: str,
        target_time: Time | TimeMsg,
        source_frame: str,
        source_time: Time | TimeMsg,
        fixed_frame: str,
    ) -> TransformStamped:
        """Return the target at one time from the source at another, or raise at once."""
        target_ns, source_ns = _nanoseconds(target_time), _nanoseconds(source_time)
        with self._changed:
            self._check(target_frame=target_frame, source_frame=source_frame, fixed_frame=fixed_frame)
            fixed_T_source, _ = self._graph.lookup(fixed_frame, source_frame, source_ns)
            target_T_fixed, stamp_ns = self._graph.lookup(target_frame, fixed_frame, target_ns)
        return _transform_message(target_frame, source_frame, compose(target_T_fixed, fixed_T_source), stamp_ns)

    def all_frames_as_string(self) -> str:
        """Return a line per child frame."""
        with self._changed:
            return self._graph.listing()

    def clear(self) -> None:
        """Forget all motion. Frame names and static transforms stay, as upstream's do."""
        with self._changed:
            self._graph.clear()

    def _insert(self, transform: TransformStamped, authority: str, *, static: bool) -> None:
        parent = transform.header.frame_id.removeprefix("/")
        child = transform.child_frame_id.removeprefix("/")
        pose, stamp_ns = _pose_of(transform), _nanoseconds(transform.header.stamp)
        reasons = _faults(parent, child, pose, authority)
        for reason in reasons:
            get_logger("tf2").error(reason)
        if reasons:
            return
        with self._changed:
            if stored := self._graph.insert(child, stamp_ns, (parent, canonical(pose)), static=static):
                self._changed.notify_all()
        if not stored:
            get_logger("tf2").warning(
                f"TF_OLD_DATA: ignoring data from the past for frame {child} at time {stamp_ns / 1e9:.6f}"
                f" according to authority {authority}"
            )

    def _check(self, target_frame: str, source_frame: str, fixed_frame: str | None = None) -> None:
        # A frame is itself at any time, known or not; only the lookup through a fixed frame insists on names.
        if fixed_frame is None and target_frame == source_frame:
            return
        self._graph.check(target_frame, "lookupTransform argument target_frame")
        self._graph.check(source_frame, "lookupTransform argument source_frame")
        if fixed_frame is not None:
            self._graph.check(fixed_frame, "lookupTransform argument fixed_frame")


def _faults(parent: str, child: str, pose: Pose, authority: str) -> list[str]:
    """Return why a transform must be ignored, each reason with upstream's code; empty if it is sound."""
    x, y, z, w = pose[3:]
    reasons = []
    if parent == child:
        reasons.append(f"TF_SELF_TRANSFORM: '{child}' cannot be its own parent")
    if not child:
        reasons.append("TF_NO_CHILD_FRAME_ID: the child_frame_id is empty")
    if not parent:
        reasons.append(f"TF_NO_FRAME_ID: the frame_id above '{child}' is empty")
    if any(map(isnan, pose)):
        reasons.append(f"TF_NAN_INPUT: a value for '{child}' is not a number ({_written(pose)})")
    if not abs(x * x + y * y + z * z + w * w - 1.0) < _NORMALISATION_TOLERANCE:
        reasons.append(f"TF_DENORMALIZED_QUATERNION: the rotation for '{child}' is not of length 1 ({_written(pose)})")
    return [f"{reason}; ignoring the transform from authority '{authority}'" for reason in reasons]


def _written(pose: Pose) -> str:
    return " ".join(f"{number:f}" for number in pose)


def _nanoseconds(span: Time | TimeMsg | Duration, what: str = "time") -> int:
    """Return the nanoseconds of a time or duration, be it rclpy's or a message's."""
    if hasattr(span, "nanosec"):
        return int(span.sec * _NS_PER_S + span.nanosec)
    try:
        return int(span.nanoseconds)
    except AttributeError:
        raise TypeError(f"{what} must have sec and nanosec, or nanoseconds; got {type(span).__name__}") from None


def _pose_of(message: TransformStamped) -> Pose:
    """Return the pose of a message as it stands, not normalised."""
    translation, rotation = message.transform.translation, message.transform.rotation
    return (translation.x, translation.y, translation.z, rotation.x, rotation.y, rotation.z, rotation.w)


def _transform_message(target: str, source: str, pose: Pose, stamp_ns: int) -> TransformStamped:
    """Return target_T_source as a message, its quaternion of length 1."""
    message = TransformStamped()
    message.header.frame_id = target
    message.child_frame_id = source
    message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp_ns, _NS_PER_S)
    translation, rotation = message.transform.translation, message.transform.rotation
    translation.x, translation.y, translation.z, rotation.x, rotation.y, rotation.z, rotation.w = canonical(pose)
    return message
