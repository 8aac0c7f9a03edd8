"""What the kinematics nodes would publish, in batch and by the same functions: feeds beside those of the archive."""

from collections.abc import Callable, Sequence

from fieldplay_archive.archive import Archive
from fieldplay_archive.outlets.derived.ackermann import ackermann_odometry
from fieldplay_archive.outlets.derived.arms import arm_tcp
from fieldplay_archive.outlets.derived.integrity import sensor_integrity
from fieldplay_archive.outlets.derived.joint_transforms import joint_transforms
from fieldplay_archive.outlets.derived.lander_arm import lander_arm
from fieldplay_archive.outlets.derived.odometry_evaluation import odometry_evaluation
from fieldplay_archive.outlets.derived.odometry_path import odometry_path
from fieldplay_archive.outlets.derived.parts import Place, with_parameters
from fieldplay_archive.outlets.derived.skid_steer import skid_steer_odometry
from fieldplay_archive.outlets.derived.steered_wheels import expected_wheels, wheel_odometry, wheel_poses
from fieldplay_archive.spec import DerivedSpec
from fieldplay_messages.feeds.feed import Feed
from fieldplay_messages.streams import Stream

__all__ = ["KINDS", "Place", "feeds_of_derived"]

KINDS: dict[str, Callable[[DerivedSpec, Sequence[Stream], Place], list[Feed]]] = {
    "ackermann_odometry": ackermann_odometry,
    "arm_tcp": arm_tcp,
    "expected_wheels": expected_wheels,
    "joint_transforms": joint_transforms,
    "lander_arm": lander_arm,
    "odometry_evaluation": odometry_evaluation,
    "odometry_path": odometry_path,
    "sensor_integrity": sensor_integrity,
    "skid_steer_odometry": skid_steer_odometry,
    "wheel_odometry": wheel_odometry,
    "wheel_poses": wheel_poses,
}


def feeds_of_derived(archive: Archive, place: Place) -> list[Feed]:
    """All that can be computed of the streams that the archive has."""
    return [
        feed
        for spec in archive.spec.derived
        if all(name in archive.streams for name in spec.streams)
        for feed in KINDS[spec.kind](
            with_parameters(spec, archive.parameters), [archive.streams[name] for name in spec.streams], place
        )
    ]
