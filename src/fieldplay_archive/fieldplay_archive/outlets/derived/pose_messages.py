"""Messages of poses and transforms from arrays, all rows at once."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from fieldplay_archive.outlets.derived.parts import Bytes
from fieldplay_kinematics.planar_motion import quaternion_from_yaw
from fieldplay_kinematics.transforms import Array, quaternion_from_rotation
from fieldplay_messages import records
from fieldplay_messages.cdr.encoders import encode, set_axes, stamped_rows
from fieldplay_messages.spec import StreamSpec

TF, ODOMETRY, POSES = "tf2_msgs/msg/TFMessage", "nav_msgs/msg/Odometry", "geometry_msgs/msg/PoseArray"


def tf_rows(parents: Sequence[str], children: Sequence[str], stamp_ns: NDArray[np.int64], transforms: Array) -> Bytes:
    """TFMessages with one transform for each child, from parent_T_child (n, children, 4, 4)."""
    quaternions = quaternion_from_rotation(transforms[..., :3, :3])
    return tf_rows_from_poses(parents, children, stamp_ns, transforms[..., :3, 3], quaternions)


def tf_rows_from_poses(
    parents: Sequence[str], children: Sequence[str], stamp_ns: NDArray[np.int64], places: Array, quaternions: Array
) -> Bytes:
    """TFMessages with one transform for each child: its place (n, children, 3) and quaternion (n, children, 4)."""
    made = records.Transforms(
        stamp_ns=stamp_ns,
        parents=tuple(parents),
        children=tuple(children),
        translation_m=places,
        rotation_xyzw=quaternions,
    )
    return encode(made, StreamSpec(id="derived", topic="/tf", type=TF))


def pose_array_rows(frame: str, stamp_ns: NDArray[np.int64], transforms: Array) -> Bytes:
    """PoseArrays from frame_T_pose (n, poses, 4, 4)."""
    record = records.Record(stamp_ns=stamp_ns)
    data, rows = stamped_rows(POSES, record, frame, {"poses": transforms.shape[1]})
    quaternions = quaternion_from_rotation(transforms[..., :3, :3])
    for index in range(transforms.shape[1]):
        set_axes(rows, f"poses[{index}].position", transforms[:, index, :3, 3])
        set_axes(rows, f"poses[{index}].orientation", quaternions[:, index], "xyzw")
    return data


class PlanarOdometry(Protocol):
    """Odometry in the plane: poses x, y, yaw and twists vx, vy, turn rate (n, 3), covariances (n, 6, 6)."""

    @property
    def poses(self) -> Array: ...

    @property
    def twists(self) -> Array: ...

    @property
    def pose_covariances(self) -> Array: ...

    @property
    def twist_covariances(self) -> Array: ...


def planar_odometry_rows(spec: StreamSpec, stamp_ns: NDArray[np.int64], found: PlanarOdometry) -> Bytes:
    """Odometry in the plane, as messages."""
    zero, poses, twists = np.zeros(len(stamp_ns)), found.poses, found.twists
    made = records.Odometry(
        stamp_ns=stamp_ns,
        position_m=np.stack([poses[:, 0], poses[:, 1], zero], axis=-1),
        orientation_xyzw=quaternion_from_yaw(poses[:, 2]),
        pose_covariance=found.pose_covariances,
        linear_velocity_m_s=np.stack([twists[:, 0], twists[:, 1], zero], axis=-1),
        angular_velocity_rad_s=np.stack([zero, zero, twists[:, 2]], axis=-1),
        twist_covariance=found.twist_covariances,
    )
    return encode(made, spec)
