"""The buffer without waiting: stores transform messages and answers lookups."""

from threading import Condition
from typing import NoReturn

from builtin_interfaces.msg import Time as TimeMsg
from geometry_msgs.msg import TransformStamped
from rclpy.duration import Duration
from rclpy.logging import get_logger
from rclpy.time import Time

from ._checks import faults
from ._coverage import refuse_attribute
from ._errors import TransformException
from ._frame_graph import FrameGraph
from ._messages import nanoseconds, pose_of, transform_message
from ._pose import canonical, compose
from ._yaml import frames_as_yaml

DEFAULT_CACHE_TIME = Duration(seconds=10)

_LEFT_OUT = frozenset({"_allFramesAsDot", "_chain", "lookupVelocityCore", "lookupVelocityFullCore", "srv"})


class BufferCore:
    """A tree of frames with the last seconds of its motion. Every method may be called from any thread."""

    def __init__(self, cache_time: Duration = DEFAULT_CACHE_TIME) -> None:
        """Make an empty buffer that keeps ``cache_time`` of each frame's motion."""
        self._graph = FrameGraph(nanoseconds(cache_time, "cache_time"))
        # Guards the graph; subclasses wait on it for new data.
        self._changed = Condition()

    def __getattr__(self, name: str) -> NoReturn:
        """Name what upstream has and this stand-in has not."""
        refuse_attribute("tf2_ros.Buffer", name, _LEFT_OUT)

    def set_transform(self, transform: TransformStamped, authority: str) -> None:
        """Store a moving transform. An unsound or too old one is logged and ignored, as upstream does."""
        self._insert(transform, authority, static=False)

    def set_transform_static(self, transform: TransformStamped, authority: str) -> None:
        """Store a transform that is valid at all times and survives ``clear``."""
        self._insert(transform, authority, static=True)

    def lookup_transform_core(self, target_frame: str, source_frame: str, time: Time | TimeMsg) -> TransformStamped:
        """Return target_T_source at a time (0: the latest common one), or raise at once."""
        stamp_ns = nanoseconds(time)
        with self._changed:
            self._check(target_frame=target_frame, source_frame=source_frame)
            pose, stamp_ns = self._graph.lookup(target_frame, source_frame, stamp_ns)
        return transform_message(target_frame, source_frame, pose, stamp_ns)

    def lookup_transform_full_core(
        self,
        target_frame: str,
        target_time: Time | TimeMsg,
        source_frame: str,
        source_time: Time | TimeMsg,
        fixed_frame: str,
    ) -> TransformStamped:
        """Return the target at one time from the source at another, through a frame fixed in time."""
        target_ns, source_ns = nanoseconds(target_time), nanoseconds(source_time)
        with self._changed:
            self._check(target_frame=target_frame, source_frame=source_frame, fixed_frame=fixed_frame)
            fixed_T_source, _ = self._graph.lookup(fixed_frame, source_frame, source_ns)
            target_T_fixed, stamp_ns = self._graph.lookup(target_frame, fixed_frame, target_ns)
        return transform_message(target_frame, source_frame, compose(target_T_fixed, fixed_T_source), stamp_ns)

    def can_transform_core(self, target_frame: str, source_frame: str, time: Time | TimeMsg) -> tuple[bool, str]:
        """Return whether a lookup would succeed now, and if not, why."""
        try:
            self.lookup_transform_core(target_frame, source_frame, time)
        except TransformException as error:
            return False, str(error)
        return True, ""

    def can_transform_full_core(
        self,
        target_frame: str,
        target_time: Time | TimeMsg,
        source_frame: str,
        source_time: Time | TimeMsg,
        fixed_frame: str,
    ) -> tuple[bool, str]:
        """Return whether a lookup through a fixed frame would succeed now, and if not, why."""
        try:
            self.lookup_transform_full_core(target_frame, target_time, source_frame, source_time, fixed_frame)
        except TransformException as error:
            return False, str(error)
        return True, ""

    def get_latest_common_time(self, target_frame: str, source_frame: str) -> Time:
        """Return the latest time at which the two frames can be related; 0 if all between them is static."""
        with self._changed:
            self._graph.check(target_frame, "get_latest_common_time argument target_frame")
            self._graph.check(source_frame, "get_latest_common_time argument source_frame")
            return Time(nanoseconds=self._graph.latest_common_time(target_frame, source_frame))

    def all_frames_as_yaml(self) -> str:
        """Return every child frame with its parent, broadcaster, rate and span as YAML."""
        with self._changed:
            return frames_as_yaml(self._graph)

    def all_frames_as_string(self) -> str:
        """Return a line per child frame."""
        with self._changed:
            return self._graph.listing()

    def clear(self) -> None:
        """Forget all motion. Frame names and static transforms stay, as upstream's do."""
        with self._changed:
            self._graph.clear()

    def _frameExists(self, frame_id: str) -> bool:
        with self._changed:
            return frame_id in self._graph.caches

    def _getFrameStrings(self) -> list[str]:
        with self._changed:
            return list(self._graph.caches)

    def _insert(self, transform: TransformStamped, authority: str, *, static: bool) -> None:
        parent = transform.header.frame_id.removeprefix("/")
        child = transform.child_frame_id.removeprefix("/")
        pose, stamp_ns = pose_of(transform), nanoseconds(transform.header.stamp)
        reasons = faults(parent, child, pose, authority)
        for reason in reasons:
            get_logger("tf2").error(reason)
        if reasons:
            return
        with self._changed:
            if stored := self._graph.insert(child, stamp_ns, (parent, canonical(pose)), static=static):
                self._graph.authorities[child] = authority
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
