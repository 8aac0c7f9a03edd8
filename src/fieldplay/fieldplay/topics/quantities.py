"""The numbers that messages of a type hold: what they are, their units, and how to read them from records."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from operator import attrgetter

import numpy as np
from numpy.typing import NDArray

from fieldplay.geometry.transforms import fixed_xyz_from_rotation, rotation_from_quaternion
from fieldplay.messages.records import Imu, Record

JOINT_UNITS = {"position": "rad or m", "velocity": "rad/s or m/s", "effort": "N m or N"}
ABSENT = -1.0
PLAIN_NUMBERS = ("Float32", "Float64", "Int8", "Int16", "Int32", "Int64", "UInt16", "UInt32", "UInt64", "Bool")
Array = NDArray[np.float64]


@dataclass(frozen=True)
class Quantity:
    """Numbers of a message that share a chart: what they are, their unit and names, and how to read them (n, names)."""

    title: str
    unit: str
    names: tuple[str, ...]
    read: Callable[[Record], Array]
    turn: float | None = None  # of angles, which go on where they would begin anew
    may_lack: bool = False  # whether the message has a way to say that there is no number, as NaN
    is_state: bool = False  # whole numbers, which hold until the next message where these are rare


def _vector(column: str, title: str, unit: str) -> Quantity:
    return Quantity(title, unit, ("x", "y", "z"), attrgetter(column))


def _number(column: str, title: str, unit: str, *, may_lack: bool = False, is_state: bool = False) -> Quantity:
    def read(record: Record) -> Array:
        values = getattr(record, column)
        return np.full((len(record), 1), np.nan) if values is None else np.asarray(values, np.float64)[:, None]

    return Quantity(title, unit, ("",), read, may_lack=may_lack, is_state=is_state)


def _attitude(record: Record) -> Array:
    """Roll, pitch and yaw in degrees; NaN where it is said that there is none."""
    if not isinstance(record, Imu) or record.orientation_xyzw is None:
        return np.full((len(record), 3), np.nan)
    quaternions, has_orientation = record.orientation_xyzw, np.ones(len(record), bool)
    if record.orientation_covariance is not None:
        has_orientation = record.orientation_covariance[:, 0, 0] != ABSENT
    has_orientation &= np.isfinite(quaternions).all(axis=1) & (np.abs(quaternions).max(axis=1) > 0)
    angles = np.full((len(quaternions), 3), np.nan)
    if has_orientation.any():
        angles[has_orientation] = np.degrees(
            fixed_xyz_from_rotation(rotation_from_quaternion(quaternions[has_orientation]))
        )
    return angles


TWIST = (_vector("linear_velocity_m_s", "velocity", "m/s"), _vector("angular_velocity_rad_s", "turn rate", "rad/s"))
WRENCH = (_vector("force_n", "force", "N"), _vector("torque_nm", "torque", "N m"))
ACCELERATION = (
    _vector("linear_m_s2", "acceleration", "m/s²"),
    _vector("angular_rad_s2", "angular acceleration", "rad/s²"),
)
PLAIN = (*((name, "values") for name in PLAIN_NUMBERS), ("UInt8", "code"))
QUANTITIES: Mapping[str, tuple[Quantity, ...]] = {
    "sensor_msgs/msg/Imu": (
        _vector("angular_velocity_rad_s", "turn rate", "rad/s"),
        _vector("linear_acceleration_m_s2", "acceleration", "m/s²"),
        Quantity("attitude", "deg", ("roll", "pitch", "yaw"), _attitude, turn=360.0, may_lack=True),
    ),
    "sensor_msgs/msg/MagneticField": (_vector("magnetic_field_t", "magnetic field", "T"),),
    "sensor_msgs/msg/Temperature": (_number("temperature_deg_c", "temperature", "°C"),),
    "sensor_msgs/msg/FluidPressure": (_number("pressure_pa", "pressure", "Pa"),),
    "sensor_msgs/msg/RelativeHumidity": (_number("values", "relative humidity", ""),),
    "sensor_msgs/msg/Illuminance": (_number("values", "illuminance", "lx"),),
    "sensor_msgs/msg/Range": (_number("values", "range", "m", may_lack=True),),
    "sensor_msgs/msg/BatteryState": (
        _number("voltage_v", "voltage", "V", may_lack=True),
        _number("current_a", "current", "A", may_lack=True),
        _number("percentage", "charge, as a fraction", "", may_lack=True),
    ),
    "geometry_msgs/msg/TwistStamped": TWIST,
    "geometry_msgs/msg/TwistWithCovarianceStamped": TWIST,
    "geometry_msgs/msg/Twist": TWIST,
    "geometry_msgs/msg/AccelStamped": ACCELERATION,
    "geometry_msgs/msg/AccelWithCovarianceStamped": ACCELERATION,
    "geometry_msgs/msg/WrenchStamped": WRENCH,
    "geometry_msgs/msg/Vector3Stamped": (_vector("vector", "vector", ""),),
    **{f"std_msgs/msg/{name}": (_number(column, "value", "", is_state=name[0] != "F"),) for name, column in PLAIN},
}
