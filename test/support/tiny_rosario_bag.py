"""The same small sequence of the Rosario dataset as the authors' program would put it into a bag of ROS 1."""

import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from rosbags.rosbag1 import Writer
from rosbags.typesys import Stores, get_types_from_msg, get_typestore

from support import tiny_rosario as tiny

RECTIFIED = {  # of the authors' present bags
    "f": 351.0571182029654, "cx": 340.7338447570801, "cy": 201.70985984802246, "shift": -41.67702640441882,
    "left": [
        0.999873448071739, 0.0007366880139693224, 0.015891668631757446,
        -0.0007117643758229365, 0.9999985080430129, -0.0015739451138449111,
        -0.01589280442857141, 0.0015624348044513143, 0.9998724806518465,
    ],
    "right": [
        0.9999973307670281, -0.00043956732938318916, 0.0022683120115662946,
        0.0004360095298107782, 0.9999986744820188, 0.0015687351258854836,
        -0.0022689985695877315, -0.0015677419329123293, 0.9999961969081298,
    ],
}  # fmt: skip
OLDER = {
    **RECTIFIED,
    "f": 347.6564367181238,
    "cx": 339.375789642334,
    "cy": 198.58967208862305,
    "shift": -41.273302096641586,
}
TRANSFORMS = [  # parent, child, translation, quaternion
    ("base_link", "imu", (1.96, -0.017, 1.02), (0.845406160, -0.017008440, 0.533508388, 0.019181667)),
    ("imu", "left", (-0.030950056, -0.077136434, 0.026512488), (0.058468129, 0.019448917, 0.703481356, 0.708037569)),
    ("imu", "right", (-0.029702272, 0.041641180, 0.033393889), (0.064387509, 0.012368496, 0.703280837, 0.707882288)),
    ("base_link", "gps", (1.8, -0.03, 1.593), (0.0, 0.0, 0.0, 1.0)),
]


def store() -> Any:
    """Message types of ROS 1, with TFMessage, which rosbags does not bring."""
    typestore = get_typestore(Stores.ROS1_NOETIC)
    typestore.register(get_types_from_msg("geometry_msgs/TransformStamped[] transforms\n", "tf2_msgs/msg/TFMessage"))
    return typestore


@dataclass
class TinyBag:
    """How the bag is written: its compression, the generation of its CameraInfo, the twist of /odom, its own clock."""

    seconds: int = 2
    compression: str = ""
    rectified: dict[str, Any] = field(default_factory=lambda: RECTIFIED)
    twist: str = "global"
    log_offset_ns: int = 0  # of the bag's times against the headers
    foreign: bool = False
    cameras: tuple[str, ...] = ("left", "right")
    chunk_bytes: int = 1 << 20
    without: tuple[str, ...] = ()
    skipped: tuple[str, int] = ("", -1)  # a camera, and the picture of it that is missing

    def write(self, path: Path) -> None:
        """All messages, topic after topic, as the authors' program does."""
        self._types = store()
        self._connections: dict[str, Any] = {}
        writer = Writer(path)
        if self.compression:
            writer.set_compression(Writer.CompressionFormat[self.compression.upper()])
        writer.chunk_threshold = self.chunk_bytes
        writer.open()
        self._writer = writer
        for part in (self._imu, self._pictures, self._gps, self._odometry, self._foreign):
            part()
        writer.close()

    def _type(self, name: str) -> Any:
        return self._types.types[name]

    def _send(self, topic: str, message: Any, stamp_ns: int) -> None:
        if topic in self.without:
            return
        msgtype = message.__msgtype__
        if topic not in self._connections:
            self._connections[topic] = self._writer.add_connection(topic, msgtype, typestore=self._types)
        data = self._types.serialize_ros1(message, msgtype)
        self._writer.write(self._connections[topic], stamp_ns + self.log_offset_ns, data)

    def _header(self, stamp_ns: int, frame: str) -> Any:
        stamp = self._type("builtin_interfaces/msg/Time")(sec=stamp_ns // 10**9, nanosec=stamp_ns % 10**9)
        return self._type("std_msgs/msg/Header")(seq=0, stamp=stamp, frame_id=frame)

    def _vector(self, values: Any) -> Any:
        return self._type("geometry_msgs/msg/Vector3")(*map(float, values))

    def _quaternion(self, values: Any) -> Any:
        return self._type("geometry_msgs/msg/Quaternion")(*map(float, values))

    def _imu(self) -> None:
        make = self._type("sensor_msgs/msg/Imu")
        absent = np.array([-1.0, *[0.0] * 8])
        for t, _, stamp_ns in tiny.times(tiny.IMU_HZ, self.seconds):
            rates, force = tiny.imu_units(t)
            header, none = self._header(stamp_ns, "imu"), np.zeros(9)
            turn = self._quaternion((0, 0, 0, 1))
            self._send(
                "/imu", make(header, turn, absent, self._vector(rates), none, self._vector(force), none), stamp_ns
            )

    def _pictures(self) -> None:
        make = self._type("sensor_msgs/msg/Image")
        for camera in self.cameras:
            for index, (_, _, stamp_ns) in enumerate(tiny.times(tiny.CAMERA_HZ, self.seconds)):
                if (camera, index) == self.skipped:
                    continue
                pixels = tiny.pixels(camera, index)
                height, width = pixels.shape[:2]
                header = self._header(stamp_ns, f"/stereo/{camera}")
                image = make(header, height, width, "bgr8", 0, 3 * width, pixels.reshape(-1))
                self._send(f"/stereo/{camera}/image_raw", image, stamp_ns)
                self._send(f"/stereo/{camera}/camera_info", self._camera_info(camera, stamp_ns), stamp_ns)

    def _camera_info(self, camera: str, stamp_ns: int) -> Any:
        own: Any = tiny.CALIBRATION["cam0" if camera == "left" else "cam1"]
        fx, fy, cx, cy = own["intrinsics"]
        pair = self.rectified
        shift = pair["shift"] if camera == "right" else 0.0
        roi = self._type("sensor_msgs/msg/RegionOfInterest")(0, 0, 0, 0, False)
        return self._type("sensor_msgs/msg/CameraInfo")(
            header=self._header(stamp_ns, camera), height=376, width=672, distortion_model="plumb_bob",
            D=np.array([*own["distortion_coeffs"], 0.0]), K=np.array([fx, 0, cx, 0, fy, cy, 0, 0, 1.0]),
            R=np.array(pair[camera]),
            P=np.array([pair["f"], 0, pair["cx"], shift, 0, pair["f"], pair["cy"], 0, 0, 0, 1.0, 0]),
            binning_x=0, binning_y=0, roi=roi,
        )  # fmt: skip

    def _gps(self) -> None:
        make, status = self._type("sensor_msgs/msg/NavSatFix"), self._type("sensor_msgs/msg/NavSatStatus")
        twist = self._type("geometry_msgs/msg/Twist")
        for t, _, stamp_ns in tiny.times(tiny.GPS_HZ, self.seconds):
            east, north = tiny.place_at(t)
            longitude, latitude = tiny.to_degrees().transform(tiny.EAST_M + east, tiny.NORTH_M + north)
            covariance = np.diag([0.81, 0.81, 3.24]).reshape(-1)
            header = self._header(stamp_ns, "gps")
            self._send("/gps/fix", make(header, status(2, 1), latitude, longitude, 68.0, covariance, 1), stamp_ns)
            stamped = self._type("geometry_msgs/msg/TwistStamped")
            velocity = twist(self._vector((1.0, 0, 0)), self._vector((0, 0, 0)))
            self._send("/gps/vel", stamped(self._header(stamp_ns, "gps"), velocity), stamp_ns)

    def _odometry(self) -> None:
        for index, (_, _, stamp_ns) in enumerate(tiny.times(tiny.ODOMETRY_HZ, self.seconds)):
            self._send("/odom", self._odom(stamp_ns, tiny.POSES[min(index, len(tiny.POSES) - 1)]), stamp_ns)
            self._send("tf_static", self._transforms(stamp_ns), stamp_ns)

    def _odom(self, stamp_ns: int, row: tuple[float, ...]) -> Any:
        x, y, heading, v, w = row
        turn = self._quaternion((0, 0, math.sin(heading / 2), math.cos(heading / 2)))
        point = self._type("geometry_msgs/msg/Point")(x, y, 0.0)
        pose = self._type("geometry_msgs/msg/PoseWithCovariance")(
            self._type("geometry_msgs/msg/Pose")(point, turn), np.zeros(36)
        )
        linear = (v * math.cos(heading), v * math.sin(heading), 0) if self.twist == "global" else (v, 0, 0)
        twist = self._type("geometry_msgs/msg/TwistWithCovariance")(
            self._type("geometry_msgs/msg/Twist")(self._vector(linear), self._vector((0, 0, w))), np.zeros(36)
        )
        return self._type("nav_msgs/msg/Odometry")(self._header(stamp_ns, "odom"), "base_link", pose, twist)

    def _transforms(self, stamp_ns: int) -> Any:
        transform, stamped = self._type("geometry_msgs/msg/Transform"), self._type("geometry_msgs/msg/TransformStamped")
        return self._type("tf2_msgs/msg/TFMessage")(
            [
                stamped(
                    self._header(stamp_ns, parent), child, transform(self._vector(position), self._quaternion(turn))
                )
                for parent, child, position, turn in TRANSFORMS
            ]
        )

    def _foreign(self) -> None:
        if self.foreign:
            text = self._type("std_msgs/msg/String")
            for index in range(3):
                self._send("/chatter", text("hello"), tiny.START * 10**9 + index * 10**8)
