"""Trajectories as text: a line for each pose, as the TUM benchmark has them and evo reads them."""

from collections.abc import Iterator

from fieldplay_fusion.trajectories import Trajectory
from fieldplay_kinematics.transforms import quaternion_from_rotation
from fieldplay_messages.stamps import NS_PER_S


def tum_lines(trajectory: Trajectory) -> Iterator[str]:
    """Lines `t x y z qx qy qz qw`, times as seconds with all nanoseconds; the identity where no rotation is known."""
    quaternions = quaternion_from_rotation(trajectory.poses[:, :3, :3])
    rows = zip(trajectory.stamp_ns.tolist(), trajectory.positions_m.tolist(), quaternions.tolist(), strict=True)
    for stamp_ns, position, quaternion in rows:
        seconds, nanoseconds = divmod(stamp_ns, NS_PER_S)
        numbers = " ".join(f"{value:.9f}" for value in (*position, *quaternion))
        yield f"{seconds}.{nanoseconds:09d} {numbers}\n"
