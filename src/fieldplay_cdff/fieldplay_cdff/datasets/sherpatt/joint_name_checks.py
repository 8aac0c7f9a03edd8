"""Whether the joints of a log are those of the robot's model, by their names."""

from collections.abc import Iterable, Sequence

from fieldplay.core.errors import UsageError
from fieldplay.datasets.archive import Archive
from fieldplay.datasets.registry import robot_file
from fieldplay.geometry.urdf_model import MOVING, model_from_text
from fieldplay.kinematics.joint_transforms import renamed, renaming_from_text
from fieldplay.messages import records
from fieldplay.streams.stream import Stream

KIND = "joint_transforms"
SHOWN = 6


def check_joint_names(archive: Archive) -> None:
    """Note joints of the model that the log does not tell of, and joints of the log that the model does not have."""
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
        known = renamed(names, renaming)
        strange = [name for name, own in zip(names, known, strict=True) if own not in {joint.name for joint in moving}]
        lacking = [joint.name for joint in moving if joint.mimic is None and joint.name not in known]
        for text in _texts(archive.spec.robot, strange, lacking):
            archive.notes.append(f"{derived.streams[0]}: {text}")


def _texts(robot: str, strange: Sequence[str], lacking: Sequence[str]) -> Iterable[str]:
    if lacking:
        there = f"; it has others: {_shown(strange)}" if strange else ""
        yield (
            f"the log does not have {len(lacking)} joints by which the model {robot} moves, which stay away: "
            f"{_shown(lacking)}{there} (joint_names tells which is which)"
        )
    elif strange:
        yield f"joints that are not in the model {robot}: {_shown(strange)}"


def _shown(names: Sequence[str]) -> str:
    return ", ".join(names[:SHOWN]) + (", ..." if len(names) > SHOWN else "")


def _names(stream: Stream) -> tuple[str, ...]:
    """Those of the first rows; a log has the same ones all the time."""
    for index in range(len(stream.spans)):
        record = stream.load(index)
        if isinstance(record, records.Joints) and len(record):
            return record.names
    return ()
