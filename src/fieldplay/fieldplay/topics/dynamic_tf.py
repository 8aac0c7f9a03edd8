"""The player's own /tf: odometry of the archive as transforms, switched by name.

No frame may have two parents. The computed odometry (of a node, or of `--derived`) has the first right to its base;
then come the streams in the order of the dataset's description.
"""

from dataclasses import replace

from fieldplay.core.errors import UsageError
from fieldplay.datasets.archive import Archive
from fieldplay.datasets.spec import DatasetSpec
from fieldplay.kinematics.computation import ON_TF, TF
from fieldplay.messages import records
from fieldplay.messages.stream_spec import ALWAYS, StreamSpec
from fieldplay.streams.stream import Stream
from fieldplay.streams.topic_stream import TopicStream, numeric_topic_stream
from fieldplay.topics.selection import Selection

ODOM_TF = "odom_tf"  # the switch of a computed odometry


def switches(spec: DatasetSpec) -> dict[str, bool]:
    """The switches of a dataset's tf by name, and whether they are on where nothing is said."""
    names = [stream.tf for stream in spec.streams if stream.tf not in ("", ALWAYS)]
    names += [ODOM_TF for derived in spec.derived if derived.odom_tf]
    return {name: name not in spec.tf_off for name in dict.fromkeys(names)}


def is_computed(spec: DatasetSpec) -> bool:
    """Whether odom_tf is the switch of a computed odometry."""
    return any(derived.odom_tf for derived in spec.derived)


def computes_odometry(archive: Archive) -> bool:
    """Whether the archive has what an odometry is computed of."""
    return any(d.odom_tf and set(d.streams) <= set(archive.streams) for d in archive.spec.derived)


def live_switches(spec: DatasetSpec) -> dict[str, bool]:
    """The switches as the player takes them alone: it computes nothing, and does not detect nodes."""
    return {name: is_on and not (name == ODOM_TF and is_computed(spec)) for name, is_on in switches(spec).items()}


def check_switches(spec: DatasetSpec, selection: Selection) -> None:
    """UsageError names a switch that the dataset does not have."""
    known = switches(spec)
    for name in selection.tf:
        if name not in known:
            there = ", ".join(sorted(known)) or "none"
            raise UsageError(f"tf: {spec.name} has no switch '{name}'; there are: {there}")


def sends_odom_tf(spec: DatasetSpec, selection: Selection) -> bool:
    """Whether a computed odometry places its base on /tf: one that is derived here, or a node named by the caller."""
    default = selection.derived and switches(spec).get(ODOM_TF, False)
    return is_computed(spec) and selection.tf.get(ODOM_TF, default)


def streams_on_tf(archive: Archive, selection: Selection, placed: set[str]) -> list[str]:
    """The ids of the streams whose transforms the player sends, beside the frames that the static tree has placed."""
    spec, switch_states, placed = archive.spec, {**switches(archive.spec), **selection.tf}, set(placed)
    if sends_odom_tf(spec, selection):
        placed |= {d.child_frames[0] for d in spec.derived if d.odom_tf and set(d.streams) <= set(archive.streams)}
    stream_ids = []
    instead = spec.tf_fallback if computes_odometry(archive) else ()
    for stream in spec.streams:
        is_on = bool(stream.tf) and switch_states.get(stream.tf, True) and stream.tf not in instead
        if is_on and stream.id in archive.streams and stream.child_frame not in placed:
            placed.add(stream.child_frame)
            stream_ids.append(stream.id)
    return stream_ids


def feed_of_moving_frame(stream: Stream, spec: StreamSpec, rank: int) -> TopicStream:
    """/tf with frame -> child_frame of an odometry, message by message."""

    def transforms(index: int) -> records.Transforms:
        record = stream.load(index)
        if not isinstance(record, records.Odometry):
            raise TypeError(f"{spec.id}: expected odometry, got {type(record).__name__}")
        return records.Transforms(
            stamp_ns=record.stamp_ns,
            order_ns=record.order_ns,
            parents=(spec.frame,),
            children=(spec.child_frame,),
            translation_m=record.position_m[:, None],
            rotation_xyzw=record.orientation_xyzw[:, None],
        )

    on_tf = replace(spec, topic=TF, type=ON_TF.type)
    return replace(numeric_topic_stream(stream, on_tf, TF, rank=rank), records=transforms)
