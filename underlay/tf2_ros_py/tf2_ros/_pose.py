"""Rigid motions as flat tuples: plain floats are several times faster than arrays for one motion at a time.

A pose is (tx, ty, tz, qx, qy, qz, qw): metres, and a unit quaternion with the real part last.
"""

from math import acos, sin, sqrt
from typing import TypeAlias

Pose: TypeAlias = tuple[float, float, float, float, float, float, float]

IDENTITY: Pose = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0)

# Above this cosine (1.4e-4 rad) the straight line between two quaternions is off by less than 1e-12 rad.
NEARLY_EQUAL = 1.0 - 1e-8


def compose(outer: Pose, inner: Pose) -> Pose:
    """Return a_T_c from outer = a_T_b and inner = b_T_c."""
    tx, ty, tz, x, y, z, w = outer
    px, py, pz, a, b, c, d = inner
    ux, uy, uz = 2.0 * (y * pz - z * py), 2.0 * (z * px - x * pz), 2.0 * (x * py - y * px)
    return (
        tx + px + w * ux + y * uz - z * uy,
        ty + py + w * uy + z * ux - x * uz,
        tz + pz + w * uz + x * uy - y * ux,
        w * a + x * d + y * c - z * b,
        w * b - x * c + y * d + z * a,
        w * c + x * b - y * a + z * d,
        w * d - x * a - y * b - z * c,
    )


def invert(pose: Pose) -> Pose:
    """Return b_T_a from a_T_b."""
    tx, ty, tz, x, y, z, w = pose
    return compose((0.0, 0.0, 0.0, -x, -y, -z, w), (-tx, -ty, -tz, 0.0, 0.0, 0.0, 1.0))


def canonical(pose: Pose) -> Pose:
    """Normalise the quaternion and choose the sign that upstream's detour over a rotation matrix yields.

    That sign: a positive real part for turns below 120 degrees, otherwise a positive largest imaginary part.
    """
    tx, ty, tz, x, y, z, w = pose
    scale = 1.0 / sqrt(x * x + y * y + z * z + w * w)
    lead = w if 4.0 * (w * scale) ** 2 > 1.0 else max(x, y, z, key=abs)
    if lead < 0.0:
        scale = -scale
    return (tx, ty, tz, x * scale, y * scale, z * scale, w * scale)


def interpolate(start: Pose, end: Pose, ratio: float) -> Pose:
    """Return the pose at ``ratio`` (0 to 1): translation on the line, rotation on the shortest arc."""
    ax, ay, az, x0, y0, z0, w0 = start
    bx, by, bz, x1, y1, z1, w1 = end
    cosine = x0 * x1 + y0 * y1 + z0 * z1 + w0 * w1
    s0, s1 = _arc_weights(abs(cosine), ratio)
    if cosine < 0.0:
        s1 = -s1
    return (
        ax + (bx - ax) * ratio,
        ay + (by - ay) * ratio,
        az + (bz - az) * ratio,
        x0 * s0 + x1 * s1,
        y0 * s0 + y1 * s1,
        z0 * s0 + z1 * s1,
        w0 * s0 + w1 * s1,
    )


def _arc_weights(cosine: float, ratio: float) -> tuple[float, float]:
    if cosine > NEARLY_EQUAL:
        return 1.0 - ratio, ratio
    angle = acos(cosine)
    return sin((1.0 - ratio) * angle) / sin(angle), sin(ratio * angle) / sin(angle)
