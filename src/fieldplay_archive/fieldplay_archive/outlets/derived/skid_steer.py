"""Odometry of a skid-steered base."""

from collections.abc import Sequence

from fieldplay_archive.outlets.derived.parts import NO_ROWS, Chain, Place, Rows, Stamps, feed_of_rows, velocities_of
from fieldplay_archive.outlets.derived.pose_messages import ODOMETRY, TF, planar_odometry_rows, tf_rows
from fieldplay_archive.spec import DerivedSpec
from fieldplay_kinematics.robots import planar_transforms
from fieldplay_kinematics.skid_steer_odometry import (
    SkidSteerOdometry,
    SkidSteerState,
    skid_steer_from_settings,
    skid_steer_odometry_from_wheels,
    wheel_rates_of_joints,
)
from fieldplay_kinematics.transforms import Array
from fieldplay_messages.feeds.feed import Feed
from fieldplay_messages.spec import StreamSpec
from fieldplay_messages.streams import Stream


def _odometry(spec: DerivedSpec, stream: Stream, first_ns: int) -> Chain[Array, SkidSteerState, SkidSteerOdometry]:
    settings = skid_steer_from_settings(spec.settings)

    def inputs(index: int) -> tuple[Stamps, Array]:
        record, velocities = velocities_of(stream, index)
        kept = record.stamp_ns >= first_ns
        return record.stamp_ns[kept], wheel_rates_of_joints(record.names, velocities[kept])

    def compute(
        before: SkidSteerState | None, stamp_ns: Stamps, rates: Array
    ) -> tuple[SkidSteerOdometry, SkidSteerState]:
        found = skid_steer_odometry_from_wheels(settings, before, stamp_ns, rates)
        return found, found.last

    return Chain(inputs, compute)


def skid_steer_odometry(spec: DerivedSpec, streams: Sequence[Stream], place: Place) -> list[Feed]:
    """Odometry of the base, and its transform where it is asked for."""
    (wheels,) = streams
    odometry = _odometry(spec, wheels, place.first_ns)
    frame, child = place.frame_prefix + spec.frame, place.frame_prefix + spec.child_frames[0]
    odom_spec = StreamSpec(id="derived", topic=spec.topic, type=ODOMETRY, frame=frame, child_frame=child)

    def odom(index: int) -> Rows:
        stamp_ns, found = odometry.rows(index)
        if found is None:
            return stamp_ns, NO_ROWS
        return found.stamp_ns, planar_odometry_rows(odom_spec, found.stamp_ns, found)

    def tf(index: int) -> Rows:
        stamp_ns, found = odometry.rows(index)
        if found is None:
            return stamp_ns, NO_ROWS
        return found.stamp_ns, tf_rows([frame], [child], found.stamp_ns, planar_transforms(found.poses)[:, None])

    feeds = [feed_of_rows(wheels, place.topic(spec.topic), ODOMETRY, rank=place.rank, make=odom)]
    if place.odom_tf:
        feeds.append(feed_of_rows(wheels, "/tf", TF, rank=place.tf_rank, make=tf))
    return feeds
