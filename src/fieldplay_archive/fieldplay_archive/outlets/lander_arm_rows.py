"""Rows of InSight's joints with what holds beside them: the active tool, the grapple's phase, the arm's own numbers."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldplay_kinematics import lander_arm_outputs as outputs
from fieldplay_kinematics.transforms import Array
from fieldplay_messages import records
from fieldplay_messages.streams import Stream

JOINTS, POTS, TOOL, PHASE, GEOMETRY = "joint_states", "joint_states_pot", "tool", "grapple_phase", "arm_geometry"
Stamps = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True, eq=False)
class ArmRows:
    """Times (n,), joint angles (n, 4), numbers of tool and phase (n,), and the place (n,) of the numbers that hold."""

    stamp_ns: Stamps
    angles: Array
    tools: outputs.Codes
    phases: outputs.Codes
    geometry: NDArray[np.intp]

    def only(self, chosen: NDArray[np.bool_]) -> "ArmRows":
        """The rows chosen by a mask (n,)."""
        return ArmRows(**{column.name: getattr(self, column.name)[chosen] for column in fields(self)})


Compute = Callable[[outputs.LanderModel, ArmRows], Array]


@dataclass(frozen=True, kw_only=True, eq=False)
class State:
    """What a latched stream says, and since when: times (m,) in order, and values (m, ...)."""

    stamp_ns: Stamps
    values: NDArray[Any]

    def places(self, stamp_ns: Stamps) -> NDArray[np.intp]:
        """For each of the times (n,) the place of what holds then; -1 where nothing was said yet."""
        return np.asarray(np.searchsorted(self.stamp_ns, stamp_ns, side="right") - 1, np.intp)

    def codes(self, stamp_ns: Stamps) -> outputs.Codes:
        """The number (n,) that holds at each of the times."""
        return np.append(self.values, outputs.UNKNOWN).astype(np.uint8)[self.places(stamp_ns)]


class ArmReading:
    """Reads the joints of an archive, and computes with the numbers of the arm that hold in each row."""

    def __init__(self, settings: Mapping[str, Any], streams: Mapping[str, Stream]) -> None:
        self._settings = settings
        self._tool, self._phase = state_of_stream(streams.get(TOOL)), state_of_stream(streams.get(PHASE))
        self._geometry = state_of_stream(streams.get(GEOMETRY))
        self._models: dict[int, outputs.LanderModel] = {}

    def rows(self, stream: Stream, index: int) -> ArmRows:
        """The rows of a span of joints, those with all four angles."""
        record = stream.load(index)
        if not isinstance(record, records.Joints) or record.position is None:
            raise TypeError(f"expected positions of joints, got {type(record).__name__}")
        kept = np.isfinite(record.position).all(axis=1)
        stamp_ns = record.stamp_ns[kept]
        return ArmRows(
            stamp_ns=stamp_ns,
            angles=outputs.angles_of_joints(record.names, record.position[kept]),
            tools=self._tool.codes(stamp_ns),
            phases=self._phase.codes(stamp_ns),
            geometry=self._geometry.places(stamp_ns),
        )

    def computed(self, rows: ArmRows, compute: Compute, shape: tuple[int, ...]) -> Array:
        """What is computed of all rows (n, *shape), by the model that holds in each."""
        found = np.zeros((len(rows.stamp_ns), *shape))
        for place in np.unique(rows.geometry).tolist():
            chosen = rows.geometry == place
            found[chosen] = compute(self.model(place), rows.only(chosen))
        return found

    def model(self, place: int) -> outputs.LanderModel:
        """The arm with the archive's own numbers of that place; -1 is that of the settings alone."""
        if place not in self._models:
            archived = None if place < 0 else self._geometry.values[place]
            self._models[place] = outputs.lander_model_from_settings(self._settings, archived)
        return self._models[place]


def state_of_stream(stream: Stream | None) -> State:
    """All that a latched stream says; it is short."""
    found = [] if stream is None else [_said(stream.load(index)) for index in range(len(stream.spans))]
    if not found:
        return State(stamp_ns=np.zeros(0, np.int64), values=np.zeros(0))
    stamp_ns, values = (np.concatenate(parts) for parts in zip(*found, strict=True))
    order = np.argsort(stamp_ns, kind="stable")
    return State(stamp_ns=stamp_ns[order], values=values[order])


def straight(model: outputs.LanderModel, rows: ArmRows) -> Array:
    """The active tool (n, 4, 4), the arm not bent."""
    return outputs.tcp_from_joints(model, rows.angles, rows.tools)


def bent(model: outputs.LanderModel, rows: ArmRows) -> Array:
    """The active tool (n, 4, 4) of the arm that bends."""
    return outputs.bent_tcp_from_joints(model, rows.angles, rows.tools, phases=rows.phases)


def frames(model: outputs.LanderModel, rows: ArmRows) -> Array:
    """All frames in their parents (n, frames, 4, 4)."""
    return outputs.frames_from_joints(model, rows.angles, rows.tools)


def _said(record: records.Record) -> tuple[Stamps, NDArray[Any]]:
    if isinstance(record, records.Code):
        return record.stamp_ns, record.code
    if isinstance(record, records.Values):
        return record.stamp_ns, record.values
    raise TypeError(f"expected a state, got {type(record).__name__}")
