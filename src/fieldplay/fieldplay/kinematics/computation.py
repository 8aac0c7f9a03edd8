"""Computations on messages: a class with inputs, settings and a step, for nodes and conversions alike.

A node feeds it messages as they arrive, one row at a time; a conversion feeds it an archive, span by span. Both publish
what a step returns.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fieldplay.core.errors import ArchiveError
from fieldplay.messages.records import Code, Record, Values
from fieldplay.messages.stream_spec import StreamSpec

TF = "/tf"
JUMPED_BACK = "the times of the messages jumped back: starting anew"
MAX_WAITING_ROWS = 500  # of an input, which wait for their like in another
MAX_STATES = 1000  # changes of a state that rows which come late may still ask for
Stamps = NDArray[np.int64]
Link = Callable[[str, str], NDArray[np.float64] | None]
GROUP = "fieldplay.computations"
OWN: Mapping[str, str] = {
    "ackermann_odometry": "fieldplay.kinematics.ackermann_odometry:AckermannOdometry",
    "arm_tcp": "fieldplay.kinematics.robots:ArmTcp",
    "expected_wheels": "fieldplay.kinematics.robots:ExpectedWheels",
    "joint_transforms": "fieldplay.kinematics.joint_transforms:JointTransforms",
    "lander_arm": "fieldplay.kinematics.insight_arm_computation:InsightArmTcp",
    "odometry_evaluation": "fieldplay.trajectories.odometry_evaluation:OdometryEvaluation",
    "odometry_path": "fieldplay.kinematics.odometry_path:OdometryPath",
    "sensor_integrity": "fieldplay.dust.sensor_integrity:SensorIntegrity",
    "skid_steer_odometry": "fieldplay.kinematics.skid_steer_odometry:SkidSteerOdometry",
    "wheel_odometry": "fieldplay.kinematics.robots:WheelOdometry",
    "wheel_poses": "fieldplay.kinematics.robots:WheelPoses",
}


OutputRecords = Iterable[tuple["Output", Record]]


@dataclass(frozen=True, kw_only=True)
class Input:
    """An input of a computation.

    Args:
        name: its name in `step`.
        topic: its topic, relative to the robot's namespace.
        msgtype: its message type.
        sync_with: another input whose rows of equal time are paired with these; else each row counts alone.
        latched: a state, valid for all rows published after it.
        overridable: whether a node's QoS overrides apply to it.
    """

    name: str
    topic: str
    msgtype: str
    sync_with: str = ""
    latched: bool = False
    overridable: bool = False


@dataclass(frozen=True)
class Setting:
    """A setting of a computation; a node has a parameter of this name and of the default's type.

    Args:
        name: of the setting.
        default: its value unless the description sets it. A text may contain settings before it, in braces.
        meaning: a line of help.
    """

    name: str
    default: Any
    meaning: str

    def default_among(self, settings: Mapping[str, Any]) -> Any:
        """Fill in the default.

        Args:
            settings: the settings that are known.

        Returns:
            The default, with other settings in place of their names in braces.
        """
        return self.default.format_map(settings) if isinstance(self.default, str) else self.default


@dataclass(frozen=True, kw_only=True)
class Output(StreamSpec):
    """An output of a computation; see `StreamSpec` for topic, type and frames.

    Args:
        id: of the stream.
        of: the input whose rows it follows; the first one if empty.
        frame_of: the input whose frame it has; empty for `frame`.
        live_only: published by the node only, never written to a bag.
    """

    id: str = "derived"
    of: str = ""
    frame_of: str = ""
    live_only: bool = False

    def in_frame(self, frames: "Mapping[str, FrameNames]") -> "Output":
        """Fill in the frame.

        Args:
            frames: frames of the messages, by input.

        Returns:
            The same output, in the frame of the input that `frame_of` names.
        """
        return replace(self, frame=frames[self.frame_of].frame) if self.frame_of in frames else self


ON_TF = Output(topic=TF, type="tf2_msgs/msg/TFMessage")


class FrameNames(NamedTuple):
    """The frames of the messages of an input.

    Args:
        frame: of the header.
        child: of odometry or transforms; else empty.
    """

    frame: str = ""
    child: str = ""


class Computation(ABC):
    """Base class of a computation, live one row at a time or offline span by span.

    A subclass sets `name` and `settings`, sets `inputs` and `outputs` (in `__init__` where they depend on settings),
    and implements `step`. The result must not depend on how many rows come at a time. Register it as an entry point of
    the group `fieldplay.computations`.

    Args:
        settings: values by name; missing ones get their defaults.

    Attributes:
        name: of the kind, as in descriptions.
        settings: its settings.
        each: a setting with a list, for each element of which a computation is made.
        is_stateful: whether results depend on earlier rows, so that it restarts where time jumps back.
        needs_links: whether it uses `link`.
        publishes_joint_tf: whether its frames on /tf follow from joint states alone, those of odometry excepted.
        inputs: in the order of the streams in a dataset's description.
        outputs: in the order that holds at equal times.
        period_ns: how often it publishes about earlier rows; None if each row gives its own messages.
        last_ns: the time of the last row.
        frames: known frames of the inputs by name; set by the caller.
        link: returns parent_T_child (4, 4) of two frames of the robot, None while unknown; set by the caller.
        warn: called with a line of text for the user; set by the caller.
    """

    name: ClassVar[str]
    settings: ClassVar[tuple[Setting, ...]]
    each: ClassVar[str] = ""
    is_stateful: ClassVar[bool] = False  # what came before, so that it starts anew where time jumps back
    needs_links: ClassVar[bool] = False
    publishes_joint_tf: ClassVar[bool] = False  # its frames on tf follow from joint states alone, the odometry's apart
    inputs: Sequence[Input]
    outputs: Sequence[Output]
    period_ns: int | None = None
    last_ns: int | None = None  # the time of the last row

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self.setting_values = dict(settings)
        for setting in self.settings:
            self.setting_values.setdefault(setting.name, setting.default_among(self.setting_values))
        self.frames: dict[str, FrameNames] = {}  # of the inputs, as far as they are known
        self.link: Link = lambda parent, child: None  # parent_T_child (4, 4) of two frames of the robot, once known
        self.warn: Callable[[str], None] = lambda text: None

    @abstractmethod
    def step(self, name: str, record: Record) -> OutputRecords:
        """Take rows of an input.

        Args:
            name: of the input.
            record: its rows in time order, one or many.

        Returns:
            Outputs with their records, at most one record for each output.

        Raises:
            ValueError: the rows cannot be used; the message is shown to the user.
        """

    def reset(self) -> None:
        """Forget all earlier rows."""
        self.last_ns = None

    def forget(self, after_ns: int) -> None:
        """Forget rows after a time to which the messages jumped back.

        Args:
            after_ns: the time; where the last row is later, everything is forgotten.
        """
        if self.last_ns is not None and self.last_ns > after_ns:
            self.reset()

    def follow(self, stamp_ns: Stamps) -> None:
        """Note the times of further rows; where they run back, warn and restart. Call it before using state.

        Args:
            stamp_ns: times (n,), n > 0.
        """
        if self.last_ns is not None and stamp_ns[0] < self.last_ns:
            self.warn(JUMPED_BACK)
            self.reset()
        self.last_ns = int(stamp_ns[-1])

    def reduce_rows(self, record: Record) -> Record:
        """Reduce rows to what is needed, for callers that keep all of them.

        Args:
            record: rows of an input.

        Returns:
            The rows that matter; here all of them.
        """
        return record

    def frame_of(self, name: str) -> str:
        """Look up a frame among the settings.

        Args:
            name: of the setting.

        Returns:
            Its value behind the setting `frame_prefix`.
        """
        return str(self.setting_values["frame_prefix"] + self.setting_values[name])

    @property
    def children(self) -> list[str]:
        """The frames of the setting `child_frames`, with their prefix."""
        return [self.setting_values["frame_prefix"] + child for child in self.setting_values["child_frames"]]

    @classmethod
    def create_all(cls, settings: Mapping[str, Any]) -> "list[Computation]":
        """Make the computations that settings request.

        Args:
            settings: values by name.

        Returns:
            One, or one for each entry of the setting `each`.
        """
        if not cls.each:
            return [cls(settings)]
        return [cls({**settings, cls.each: [one]}) for one in settings[cls.each]]


class ExactTimeSync:
    """Pairs rows of two inputs that have the same time, whichever come first.

    Rows that come one by one come in the order in which they were sent: what waited before a paired one has missed its
    partner, which does not come again before time jumps back.
    """

    def __init__(self) -> None:
        self._waiting: tuple[list[Record], list[Record]] = ([], [])

    def add(self, side: int, record: Record) -> list[tuple[Any, Any]]:
        """Add rows.

        Args:
            side: 0 for the first input, 1 for the second.
            record: its rows in time order.

        Returns:
            All pairs that they complete, as records of equal length: the first input's rows, the second's.
        """
        pairs: list[tuple[Any, Any]] = []
        others, left, first_left = self._waiting[1 - side], record, 0
        for index, other in enumerate(others):
            if not len(left):
                break
            if left.stamp_ns[-1] < other.stamp_ns[0] or left.stamp_ns[0] > other.stamp_ns[-1]:
                continue
            own, theirs = _common_rows(left.stamp_ns, other.stamp_ns)
            if len(own):
                pair = _only(left, own), _only(other, theirs)
                pairs.append(pair if side == 0 else pair[::-1])
                left, others[index] = _without(left, own), _without(other, theirs)
                first_left = index if len(record) == 1 else first_left
        others[:] = [other for other in others[first_left:] if len(other)]
        waiting = self._waiting[side]
        waiting += [left] if len(left) else []
        while len(waiting) > 1 and sum(map(len, waiting)) > MAX_WAITING_ROWS:
            del waiting[0]
        return pairs

    def forget(self) -> None:
        """Drop all waiting rows."""
        for waiting in self._waiting:
            waiting.clear()


def _common_rows(one: Stamps, other: Stamps) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The rows of two records that have the same times; single rows, as they come live, are compared directly."""
    if len(one) == len(other) == 1:
        both = np.zeros(int(one[0] == other[0]), np.intp)
        return both, both
    _, own, theirs = np.intersect1d(one, other, return_indices=True)
    return own, theirs


def _only(record: Record, rows: NDArray[np.intp]) -> Record:
    return record if len(record) == len(rows) == 1 else record.only(rows)


def _without(record: Record, rows: NDArray[np.intp]) -> Record:
    if len(record) == len(rows):
        return Record(stamp_ns=record.stamp_ns[:0])
    keep_mask = np.ones(len(record), bool)
    keep_mask[rows] = False
    return record.only(keep_mask)


class LatchedValue:
    """The values of a state, and since when each held.

    Changes may come in any order of time; about the newest thousand are kept.
    """

    def __init__(self) -> None:
        self.since_ns: Stamps = np.zeros(0, np.int64)
        self.values: list[Any] = []

    def update(self, record: Record) -> None:
        """Add changes of the state.

        Args:
            record: of Code or Values.

        Raises:
            TypeError: the record is of another kind.
        """
        if not isinstance(record, Code | Values):
            raise TypeError(f"expected a state, got {type(record).__name__}")
        since_ns = np.concatenate([self.since_ns, record.leaves_ns])
        values = [*self.values, *(record.code if isinstance(record, Code) else record.values)]
        order = np.argsort(since_ns, kind="stable")[-max(MAX_STATES, len(record)) :]
        self.since_ns, self.values = since_ns[order], [values[index] for index in order]

    def indices_at(self, stamp_ns: Stamps) -> NDArray[np.intp]:
        """Find the state at some times.

        Args:
            stamp_ns: times (n,).

        Returns:
            Indices (n,) into `values`; -1 before the first change.
        """
        return np.asarray(np.searchsorted(self.since_ns, stamp_ns, side="right") - 1, np.intp)


# The computations that a dataset's description may name: those of fieldplay, and of packages that register theirs.
#
# A package registers a computation as an entry point of the group `fieldplay.computations`, by the name of its kind.


@cache
def computation_kind(name: str) -> type[Computation]:
    """Find the class of a computation, ours or of a package that registers it; it is imported on request.

    Args:
        name: of the kind.

    Returns:
        The class.

    Raises:
        ArchiveError: there is none of this name.
    """
    path = OWN.get(name) or next((entry.value for entry in entry_points(group=GROUP, name=name)), "")
    if not path:
        known = ", ".join(sorted(OWN))
        raise ArchiveError(f"there is no computation '{name}'; there are {known}")
    module, _, attribute = path.partition(":")
    kind: type[Computation] = getattr(import_module(module), attribute)
    return kind
