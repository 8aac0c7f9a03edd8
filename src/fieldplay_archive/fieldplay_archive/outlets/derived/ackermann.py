"""Odometry of a base with steered front wheels, and its path."""

from collections.abc import Sequence
from dataclasses import dataclass

from fieldplay_archive.outlets.derived.parts import NO_ROWS, Chain, Place, Rows, Stamps, feed_of_made, feed_of_rows
from fieldplay_archive.outlets.derived.paths import PATH, path_messages
from fieldplay_archive.outlets.derived.pose_messages import ODOMETRY, TF, planar_odometry_rows, tf_rows
from fieldplay_archive.spec import DerivedSpec
from fieldplay_kinematics.ackermann_odometry import (
    AckermannOdometry,
    AckermannState,
    ackermann_from_settings,
    ackermann_odometry_from_joints,
    transforms_of_odometry,
    wheels_of_joints,
)
from fieldplay_kinematics.transforms import Array
from fieldplay_messages import records
from fieldplay_messages.feeds.feed import Feed, SpanMessages
from fieldplay_messages.spec import StreamSpec
from fieldplay_messages.streams import Stream

PATH_TOPIC = "path"


@dataclass(frozen=True, kw_only=True, eq=False)
class _Wheels:
    """Rates (n, 2) of the rear wheels and steering angles (n,)."""

    rates: Array
    steering: Array


def _odometry(spec: DerivedSpec, stream: Stream, first_ns: int) -> Chain[_Wheels, AckermannState, AckermannOdometry]:
    settings = ackermann_from_settings(spec.settings)

    def inputs(index: int) -> tuple[Stamps, _Wheels]:
        record = stream.load(index)
        if not isinstance(record, records.Joints) or record.position is None or record.velocity is None:
            raise TypeError(f"expected positions and velocities of joints, got {type(record).__name__}")
        kept = record.stamp_ns >= first_ns
        rates, steering = wheels_of_joints(record.names, record.position[kept], record.velocity[kept])
        return record.stamp_ns[kept], _Wheels(rates=rates, steering=steering)

    def compute(
        before: AckermannState | None, stamp_ns: Stamps, wheels: _Wheels
    ) -> tuple[AckermannOdometry, AckermannState]:
        found = ackermann_odometry_from_joints(
            settings, before, stamp_ns, wheel_rates=wheels.rates, steering=wheels.steering
        )
        return found, found.last

    return Chain(inputs, compute)


def ackermann_odometry(spec: DerivedSpec, streams: Sequence[Stream], place: Place) -> list[Feed]:
    """Odometry, path, and the transforms of the base and of the joints in it."""
    (joints,) = streams
    odometry = _odometry(spec, joints, place.first_ns)
    frame, (base, *children) = place.frame_prefix + spec.frame, [place.frame_prefix + f for f in spec.child_frames]
    odom_spec = StreamSpec(id="derived", topic=spec.topic, type=ODOMETRY, frame=frame, child_frame=base)
    first = 0 if place.odom_tf else 1

    def odom(index: int) -> Rows:
        stamp_ns, found = odometry.rows(index)
        return stamp_ns, NO_ROWS if found is None else planar_odometry_rows(odom_spec, stamp_ns, found)

    def tf(index: int) -> Rows:
        stamp_ns, found = odometry.rows(index)
        if found is None:
            return stamp_ns, NO_ROWS
        parents = [frame, *([base] * len(children))]
        edges = parents[first:], [base, *children][first:]
        return stamp_ns, tf_rows(*edges, stamp_ns, transforms_of_odometry(found)[:, first:])

    def path(index: int) -> tuple[Stamps, SpanMessages]:
        _, found = odometry.rows(index)
        return path_messages(frame, [] if found is None else found.growths)

    feeds = [
        feed_of_rows(joints, place.topic(spec.topic), ODOMETRY, rank=place.rank, make=odom),
        feed_of_made(
            topic=place.topic(PATH_TOPIC),
            msgtype=PATH,
            spans=joints.spans,
            load=path,
            rank=place.rank,
            latched=True,
            stream="derived",
        ),
    ]
    if place.odom_tf or children:
        feeds.append(feed_of_rows(joints, "/tf", TF, rank=place.tf_rank, make=tf))
    return feeds
