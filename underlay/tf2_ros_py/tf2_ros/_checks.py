"""What makes a transform unfit for the buffer."""

from math import isnan

from ._pose import Pose

NORMALISATION_TOLERANCE = 10e-3
"""How far the squared length of a quaternion may be from 1; upstream's figure."""


def faults(parent: str, child: str, pose: Pose, authority: str) -> list[str]:
    """Return why a transform must be ignored, each reason with upstream's code; empty if it is sound."""
    x, y, z, w = pose[3:]
    reasons = []
    if parent == child:
        reasons.append(f"TF_SELF_TRANSFORM: '{child}' cannot be its own parent")
    if not child:
        reasons.append("TF_NO_CHILD_FRAME_ID: the child_frame_id is empty")
    if not parent:
        reasons.append(f"TF_NO_FRAME_ID: the frame_id above '{child}' is empty")
    if any(map(isnan, pose)):
        reasons.append(f"TF_NAN_INPUT: a value for '{child}' is not a number ({_written(pose)})")
    if not abs(x * x + y * y + z * z + w * w - 1.0) < NORMALISATION_TOLERANCE:
        reasons.append(f"TF_DENORMALIZED_QUATERNION: the rotation for '{child}' is not of length 1 ({_written(pose)})")
    return [f"{reason}; ignoring the transform from authority '{authority}'" for reason in reasons]


def _written(pose: Pose) -> str:
    return " ".join(f"{number:f}" for number in pose)
