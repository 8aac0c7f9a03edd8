"""The way that odometry of the archive tells of."""

from collections.abc import Sequence

import numpy as np

from fieldplay_archive.outlets.derived.parts import Chain, Place, Stamps, feed_of_made
from fieldplay_archive.outlets.derived.paths import PATH, path_messages
from fieldplay_archive.spec import DerivedSpec
from fieldplay_kinematics.odometry_path import PathState, path_from_poses
from fieldplay_kinematics.trail import Growth, TrailLimits
from fieldplay_kinematics.transforms import Array
from fieldplay_messages import records
from fieldplay_messages.feeds.feed import Feed, SpanMessages
from fieldplay_messages.streams import Stream


def odometry_path(spec: DerivedSpec, streams: Sequence[Stream], place: Place) -> list[Feed]:
    """A path of as few poses as are needed to see the way."""
    (odometry,) = streams
    limits = TrailLimits(step_m=spec.settings["path_step_m"], poses=spec.settings["path_poses"])

    def inputs(index: int) -> tuple[Stamps, Array]:
        record = odometry.load(index)
        if not isinstance(record, records.Odometry):
            raise TypeError(f"expected odometry, got {type(record).__name__}")
        kept = record.stamp_ns >= place.first_ns
        poses = np.concatenate([record.position_m, record.orientation_xyzw], axis=1)
        return record.stamp_ns[kept], poses[kept]

    def compute(before: PathState | None, stamp_ns: Stamps, poses: Array) -> tuple[list[Growth], PathState]:
        return path_from_poses(limits, before, stamp_ns, poses)

    chain = Chain(inputs, compute)

    def path(index: int) -> tuple[Stamps, SpanMessages]:
        _, growths = chain.rows(index)
        return path_messages(place.frame_prefix + spec.frame, growths or [])

    topic = place.topic(spec.topic)
    return [
        feed_of_made(
            topic=topic,
            msgtype=PATH,
            spans=odometry.spans,
            load=path,
            rank=place.rank,
            latched=True,
            stream="derived",
        )
    ]
