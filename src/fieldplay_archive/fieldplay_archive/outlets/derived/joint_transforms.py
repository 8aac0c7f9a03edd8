"""The transforms of the joints of the robot's model."""

from collections.abc import Sequence

import numpy as np

from fieldplay_archive.outlets.derived.parts import NO_ROWS, Place, Stamps, feed_of_made
from fieldplay_archive.outlets.derived.pose_messages import TF, tf_rows
from fieldplay_archive.spec import DerivedSpec
from fieldplay_kinematics.joint_names import Renaming, renamed, renaming_from_text
from fieldplay_kinematics.transforms import Array
from fieldplay_kinematics.urdf_chain import transforms_from_positions
from fieldplay_kinematics.urdf_model import UrdfModel, model_from_text
from fieldplay_messages import records
from fieldplay_messages.errors import ArchiveError, UsageError
from fieldplay_messages.feeds.feed import Feed, RowMessages, SizedMessages, SpanMessages
from fieldplay_messages.streams import Stream


def joint_transforms(spec: DerivedSpec, streams: Sequence[Stream], place: Place) -> list[Feed]:
    """/tf with every link whose joint has a position, or follows one that has."""
    (joints,) = streams
    model = _model(place)
    renaming = renaming_of(spec)

    def tf(index: int) -> tuple[Stamps, SpanMessages]:
        record = joints.load(index)
        if not isinstance(record, records.Joints):
            raise TypeError(f"expected joints, got {type(record).__name__}")
        if record.position is None or not len(record):
            return np.zeros(0, np.int64), RowMessages(NO_ROWS)
        names = renamed(record.names, renaming)
        return _messages(model, place, record.stamp_ns, _transforms(model, names, record.position))

    return [feed_of_made(topic="/tf", msgtype=TF, spans=joints.spans, load=tf, rank=place.tf_rank, stream="derived")]


def renaming_of(spec: DerivedSpec) -> Renaming:
    """What the joints of the log are called in the model; UsageError where that cannot be understood."""
    try:
        return renaming_from_text(str(spec.settings.get("joint_names", "")))
    except ValueError as error:
        raise UsageError(str(error)) from None


def _model(place: Place) -> UrdfModel:
    if place.urdf is None:
        raise ArchiveError("joint_transforms: expected the model of a robot (`robot` in the description), got none")
    try:
        return model_from_text(place.urdf.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise ArchiveError(f"{place.urdf}: {error}") from None


def _transforms(model: UrdfModel, names: Sequence[str], positions: Array) -> dict[str, Array]:
    """parent_T_child (n, 4, 4) by child; nothing where the names are no good, of which the node warns too."""
    try:
        return transforms_from_positions(model, names, positions, missing="leave_out")
    except ValueError:
        return {}


def _messages(model: UrdfModel, place: Place, stamp_ns: Stamps, found: dict[str, Array]) -> tuple[Stamps, SpanMessages]:
    """Rows with the same links together; a link whose joint has no position in a row is not in its message."""
    children, parents = list(found), model.parents
    known = np.array([np.isfinite(found[child]).all(axis=(1, 2)) for child in children]).reshape(-1, len(stamp_ns))
    kept = known.any(axis=0)
    stamp_ns, known = stamp_ns[kept], known[:, kept]
    transforms = {child: transform[kept] for child, transform in found.items()}
    sets, of_row = np.unique(known, axis=1, return_inverse=True)
    parts = []
    for number, those in enumerate(sets.T):
        rows = np.flatnonzero(of_row.reshape(-1) == number)
        links = [child for child, is_in in zip(children, those, strict=True) if is_in]
        data = tf_rows(
            [place.frame_prefix + parents[link] for link in links],
            [place.frame_prefix + link for link in links],
            stamp_ns[rows],
            np.stack([transforms[link][rows] for link in links], axis=1),
        )
        parts.append((RowMessages(data), rows))
    return stamp_ns, SizedMessages(parts) if len(parts) != 1 else parts[0][0]
