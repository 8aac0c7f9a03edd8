"""The order of the numbers of quaternions: the converter of the logs wrote w first until some day in 2018."""

from collections.abc import Iterable, Sequence
from datetime import datetime, timezone

import numpy as np

from fieldplay.core.errors import ArchiveError, Defect, UsageError
from fieldplay.core.timestamps import NS_PER_S
from fieldplay.datasets.archive import Archive
from fieldplay.datasets.registry import robot_file
from fieldplay.geometry import axes
from fieldplay.geometry.urdf_model import MOVING, model_from_text
from fieldplay.kinematics.joint_transforms import rename_joints, renaming_from_text
from fieldplay.messages import records
from fieldplay.streams.stream import Stream
from fieldplay_cdff.logs import type_table
from fieldplay_cdff.logs.file_index import NO_TIME
from fieldplay_cdff.logs.log import Log
from fieldplay_cdff.logs.log_streams import LogStream
from fieldplay_cdff.logs.sample_rows import Floats, SampleRows
from fieldplay_cdff.logs.type_table import ORIENTATION, W_FIRST

KIND = "joint_transforms"
SHOWN = 6
BODY = ("body", "base_link", "robot")  # frames of the body of an upright rover
CONVERTED = "orient"
OF_LOGGER = ("source_frame", "target_frame")
MAX_ROWS = 100
CLEAR = 0.2  # difference of the mean uprightness, which is between -1 and 1


# Whether the joints of a log are those of the robot's model, by their names.


def check_joint_names(archive: Archive) -> None:
    """Note joints of the model that the log does not contain, and joints of the log that the model does not have."""
    for derived in archive.spec.derived:
        file = robot_file(archive.spec.robot)
        if derived.kind != KIND or file is None or not set(derived.streams) <= set(archive.streams):
            continue
        settings = derived.with_parameters(archive.parameters).settings
        try:
            renaming = renaming_from_text(str(settings.get("joint_names", "")))
        except ValueError as error:
            raise UsageError(str(error)) from None
        names = _names(archive.streams[derived.streams[0]])
        moving = [joint for joint in model_from_text(file.read_text("utf-8")).joints if joint.kind in MOVING]
        known = rename_joints(names, renaming)
        strange = [name for name, own in zip(names, known, strict=True) if own not in {joint.name for joint in moving}]
        missing = [joint.name for joint in moving if joint.mimic is None and joint.name not in known]
        for text in _texts(archive.spec.robot, strange, missing):
            archive.notes.append(f"{derived.streams[0]}: {text}")


def _texts(robot: str, strange: Sequence[str], missing: Sequence[str]) -> Iterable[str]:
    if missing:
        there = f"; it has others: {_join_names(strange)}" if strange else ""
        yield (
            f"the log does not have {len(missing)} joints by which the model {robot} moves, which are missing: "
            f"{_join_names(missing)}{there} (joint_names maps them)"
        )
    elif strange:
        yield f"joints that are not in the model {robot}: {_join_names(strange)}"


def _join_names(names: Sequence[str]) -> str:
    return ", ".join(names[:SHOWN]) + (", ..." if len(names) > SHOWN else "")


def _names(stream: Stream) -> tuple[str, ...]:
    """Those of the first rows; a log has the same ones all the time."""
    for index in range(len(stream.spans)):
        record = stream.load(index)
        if isinstance(record, records.Joints) and len(record):
            return record.names
    return ()


def w_first_names(archive: Archive, log: Log) -> frozenset[str]:
    """The streams whose quaternions are lists with w first: as chosen, or by the recording's time and its evidence.

    Unless chosen, only those that the converter wrote count.
    """
    chosen = archive.parameters["orientation_order"]
    if chosen != "auto":
        return frozenset(log.streams) if chosen == "wxyz" else frozenset()
    listed = [stream for stream in log.streams.values() if _is_of_converter(stream)]
    return frozenset(stream.name for stream in listed) if listed and _is_w_first(archive, listed) else frozenset()


def _is_w_first(archive: Archive, listed: list[LogStream]) -> bool:
    day = archive.spec.constants["w_first_until"]
    is_old = _first_ns(listed) < int(datetime(day.year, day.month, day.day, tzinfo=timezone.utc).timestamp()) * NS_PER_S
    upright = _upright(listed)
    if not is_old:
        if upright is True:
            message = "expected quaternions x y z w, as the log is younger than their change, but only with w first "
            message += "the rover stands upright (orientation_order)"
            archive.defects(Defect(file=listed[0].parts[0].file, kind="orientation_order", message=message))
        return False
    w_first = upright is not False
    how = "by which the rover stands upright" if upright is not None else "as the converter wrote them then"
    order = "w x y z" if w_first else "x y z w"
    archive.notes.append(f"recorded before {day}: quaternions are read as {order}, {how} (orientation_order)")
    return w_first


def _is_of_converter(stream: LogStream) -> bool:
    """Whether a stream has lists for quaternions as the converter of Rock's logs wrote them.

    It wrote `orient`, names of frames as sourceFrame, and microseconds; its streams are Rock's ports, `/task.port`.
    Logs of MsgPackLogger have source_frame, or names without a slash; those made of ROS bags count nanoseconds. Packed
    bits are not of it.
    """
    if (
        stream.kind not in (type_table.STATE, type_table.POSE)
        or not len(stream)
        or stream.unit == "ns"
        or stream.packing
    ):
        return False
    try:
        sample = stream.sample(stream.first_row)
    except ArchiveError:
        return False
    if not isinstance(sample, dict) or not isinstance(sample.get(CONVERTED), list):
        return False
    return stream.name.startswith("/") and not any(name in sample for name in OF_LOGGER)


def _first_ns(streams: list[LogStream]) -> int:
    known = [first for stream in streams if (first := stream.first_ns()) != NO_TIME]
    return min(known, default=int(np.iinfo(np.int64).max))


def _upright(streams: list[LogStream]) -> bool | None:
    """Return whether the rover is upright with w first rather than last; None if the data do not determine that."""
    for stream in streams:
        try:
            rows = SampleRows(
                [stream.sample(row) for row in np.linspace(0, len(stream) - 1, MAX_ROWS).astype(int).tolist()]
            )
        except ArchiveError:
            continue
        names = {str(name).lower() for name in rows.values("sourceframe")}
        if not names & set(BODY):
            continue
        turn = rows.vectors(4, *ORIENTATION)
        turn = turn[np.isfinite(turn).all(axis=1)]
        if not len(turn):
            continue
        first, last = _up(turn[:, W_FIRST]), _up(turn)
        if abs(first - last) > CLEAR:
            return first > last
    return None


def _up(turn: Floats) -> float:
    return float(axes.rotate_vectors(turn, (0.0, 0.0, 1.0))[:, 2].mean())
