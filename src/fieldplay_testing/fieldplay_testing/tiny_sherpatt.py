"""Small CDFF logs with known numbers in every form that they have, packed by msgpack alone.

Nothing in it comes from the code under test. Times are in microseconds unless a name says otherwise.
"""

import math
import zlib
from pathlib import Path
from typing import Any

import msgpack

START_US = 1_543_311_000_000_000  # 27 November 2018
STEP_US = 100_000
LATE_US = 250
COUNT = 5
NAN = math.nan
ROOT_HALF = math.sqrt(0.5)
ODOMETRY, DGPS = "/mcs_sensor_processing.rigid_body_state_out", "/dgps.imu_pose"
JOINTS, BODY_JOINT = "/mcs_sensor_processing.joints_status_all", "/body_joint.body_joint_samples"
LEFT, RIGHT = (f"/hcru1/pt_stereo_rect/{side}/image" for side in ("left", "right"))
CLOUD, SCANS = "/slam_filter.output", "/velodyne_lidar.laser_scans"
WIDTH, HEIGHT = 6, 4
JOINT_NAMES = ["alpha_front_left", "omega_front_left", "arm_joint_1"]

Sample = dict[str, Any]
Streams = dict[str, tuple[str, list[Any]]]


def pack(data: Any) -> bytes:
    """Pack as the old packer: no bin, no str8."""
    return bytes(msgpack.packb(data, use_bin_type=False))


def times() -> list[int]:
    return [START_US + STEP_US * index for index in range(COUNT)]


def log_of(streams: Streams, *, meta_first: bool = False, late_us: int = LATE_US, scale: int = 1) -> dict[str, Any]:
    """The map of a log; each stream with its type, its samples, and times a little after the samples'."""
    log: dict[str, Any] = {}
    for name, (kind, samples) in streams.items():
        logged = [(START_US + STEP_US * index + late_us) * scale for index in range(len(samples))]
        entries = {name: samples, f"{name}.meta": {"timestamps": logged, "type": kind}}
        log |= dict(reversed(entries.items())) if meta_first else entries
    return log


def write(path: Path, log: dict[Any, Any], *, zipped: bool = False) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(zlib.compress(pack(log)) if zipped else pack(log))
    return path


def flat(*, value: float = NAN, sides: int = 9) -> list[float]:
    return [value] * sides


def square(value: float = NAN) -> list[list[float]]:
    return [[value] * 3 for _ in range(3)]


def state(time: int, *, frames: tuple[str, str] = ("body", "odometry"), **others: Any) -> Sample:
    """The framework's own form: yaw 90 degrees, moving along x of the target."""
    index = (time - START_US) // STEP_US
    return {
        "timestamp": {"microseconds": time},
        "sourceFrame": frames[0],
        "targetFrame": frames[1],
        "pos": [0.1 * index, 0.5, -0.25],
        "cov_position": square(),
        "orient": [0.0, 0.0, ROOT_HALF, ROOT_HALF],
        "cov_orientation": square(),
        "velocity": [1.0, 0.0, 0.0],
        "cov_velocity": square(),
        "angular_velocity": [0.01, 0.02, 0.3],
        "cov_angular_velocity": square(),
        **others,
    }


def rock_state(time: int) -> Sample:
    """The same as Rock has it."""
    own = state(time)
    im, re = own["orient"][:3], own["orient"][3]
    covariances = {name: {"data": flat()} for name in own if name.startswith("cov_")}
    vectors = {name: {"data": own[name]} for name in ("velocity", "angular_velocity")}
    return {
        "time": {"microseconds": time},
        "sourceFrame": "body",
        "targetFrame": "odometry",
        "position": {"data": own["pos"]},
        "orientation": {"im": im, "re": re},
        **vectors,
        **covariances,
    }


def joints(time: int) -> Sample:
    index = (time - START_US) // STEP_US
    numbers = [(0.1 * index, 0.5), (0.2, NAN), (NAN, NAN)]
    elements = [
        {"position": position, "speed": speed, "effort": NAN, "raw": 7.0, "acceleration": NAN}
        for position, speed in numbers
    ]
    return {"timestamp": {"microseconds": time}, "names": list(JOINT_NAMES), "elements": elements}


def columns_of(name: str, samples: list[Sample], *, names_once: bool = True) -> dict[str, Any]:
    """Samples flattened, as pocolog2msgpack's --flatten --align_named_vector does."""
    columns: dict[str, list[Any]] = {}

    def add(path: str, value: Any) -> None:
        if isinstance(value, dict):
            for key, inner in value.items():
                add(f"{path}/{key}", inner)
        elif isinstance(value, list) and value and isinstance(value[0], dict):
            for key in value[0]:
                columns.setdefault(f"{path}/{key}", []).append([item[key] for item in value])
        else:
            columns.setdefault(path, []).append(value)

    for sample in samples:
        add(name, sample)
    if names_once and f"{name}/names" in columns:
        columns[f"{name}/names"] = columns[f"{name}/names"][0]
    return columns


def flatten(streams: Streams) -> dict[str, Any]:
    log: dict[str, Any] = {}
    for name, (kind, samples) in streams.items():
        log |= columns_of(name, samples)
        log[f"{name}.meta/timestamps"] = [START_US + STEP_US * index + LATE_US for index in range(len(samples))]
        log[f"{name}.meta/type"] = kind
    return log


def snake_case_state(time: int) -> Sample:
    """As MsgPackLogger writes it."""
    renamed = {"sourceFrame": "source_frame", "targetFrame": "target_frame"}
    return {renamed.get(name, name): value for name, value in state(time).items()}


def pixels(index: int) -> list[int]:
    """Bytes, the marker of MessagePack's own two-byte numbers among them."""
    return [(37 * index + 51 * pixel) % 256 if pixel % 5 else 0xCC for pixel in range(WIDTH * HEIGHT)]


def frame(time: int, *, scale: int = 1, **data: Any) -> Sample:
    """As logs made of ROS bags have images; with scale 1000, in nanoseconds."""
    index = (time - START_US) // STEP_US
    return {
        "metadata": {
            "timeStamp": {"microseconds": time * scale},
            "receivedTime": {"microseconds": time * scale},
            "pixelModel": "pix_UNDEF",
            "pixelCoeffs": [],
            "errValues": [],
            "attributes": [],
            "mode": "mode_GRAY",
            "status": "status_VALID",
        },
        "intrinsic": {
            "sensorId": "left",
            "cameraMatrix": [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
            "cameraModel": "cam_PINHOLE",
            "distCoeffs": [],
        },
        "extrinsic": {"hasFixedTransform": False},
        "data": {
            "rows": HEIGHT,
            "cols": WIDTH,
            "channels": 1,
            "depth": "depth_8U",
            "rowSize": WIDTH,
            "data": pixels(index),
            **data,
        },
    }


def rock_frame(time: int) -> Sample:
    """As Rock has images."""
    index = (time - START_US) // STEP_US
    return {
        "time": {"microseconds": time},
        "received_time": {"microseconds": time},
        "image": pixels(index),
        "attributes": [],
        "size": {"width": WIDTH, "height": HEIGHT},
        "data_depth": 8,
        "pixel_size": 1,
        "row_size": WIDTH,
        "frame_mode": "MODE_GRAYSCALE",
        "frame_status": "STATUS_VALID",
    }


def old_frame(time: int) -> Sample:
    """The older form, whose depth is wrong."""
    own = rock_frame(time)
    return {
        "frame_time": own["time"],
        "image": own["image"],
        "attributes": [{"att_name": "a", "data": "b"}],
        "datasize": own["size"],
        "data_depth": 3,
        "pixel_size": 1,
        "row_size": WIDTH,
        "frame_mode": "mode_gray",
        "frame_status": "status_valid",
    }


def depth_map(time: int, **others: Any) -> Sample:
    """2 rows of 3 columns, d = 2, with a gap, an error and a nearness among them."""
    return {
        "ref_time": {"microseconds": time},
        "timestamps": [{"microseconds": time + 1000 * column} for column in range(3)],
        "vertical_projection": "polar",
        "horizontal_projection": "polar",
        "vertical_interval": [-0.1, 0.1],
        "horizontal_interval": [0.2, -0.2],
        "vertical_size": 2,
        "horizontal_size": 3,
        "distances": [2.0, math.inf, NAN, 0.0, 3.0, 4.0],
        "remissions": [],
        **others,
    }


def cloud(time: int) -> Sample:
    return {
        "metadata": {"timeStamp": {"microseconds": time}},
        "data": {"points": [[1.0, 2.0, 3.0], [NAN, 0.0, 0.0], [-1.0, 0.5, 0.25]], "colors": [], "intensity": []},
    }


def laser_scan(time: int) -> Sample:
    ranges = [0, 1, 2, 3, 4, 5, *([23, 1500, 60000] * 358), 23]
    return {
        "ref_time": {"microseconds": time},
        "start_angle": -2.356194490,
        "angular_resolution": math.radians(0.25),
        "speed": 251.33,
        "ranges": ranges,
        "minRange": 23,
        "maxRange": 60000,
        "remission": [],
    }


def imu(time: int) -> Sample:
    return {
        "timestamp": {"microseconds": time}, "acc": [0.1, -0.2, 9.86], "gyro": [0.01, 0.02, 0.03], "mag": [0.85, 0, 0],
    }  # fmt: skip


def solution(time: int, *, kind: str = "DIFFERENTIAL") -> Sample:
    return {
        "time": {"microseconds": time}, "positionType": kind, "latitude": 30.5, "longitude": -5.25,
        "altitude": 867.0, "ageOfDifferentialCorrections": 1.0, "noOfSatellites": 9, "geoidalSeparation": 50.0,
        "deviationLatitude": 0.02, "deviationLongitude": 0.01, "deviationAltitude": 0.05,
    }  # fmt: skip


def transform(time: int) -> Sample:
    return {
        "metadata": {
            "parentFrameId": "LocalTerrainFrame", "parentTime": {"microseconds": time}, "childFrameId": "RoverBody",
            "childTime": {"microseconds": time}, "dataEstimated": [True] * 7, "producerId": "pom",
        },
        "data": {
            "translation": [1.0, 2.0, 3.0], "orientation": [0.0, 0.0, 0.0, 1.0],
            "cov": [[0.5 if row == column else 0.0 for column in range(6)] for row in range(6)],
        },
    }  # fmt: skip


MATRIX = [[867.356, 0.0, 516.0], [0.0, 867.356, 386.0], [0.0, 0.0, 1.0]]
CAMERAS = {
    f"/hcru1/pt_stereo_rect/{side}/camera_info": {
        "baseline": baseline,
        "intrinsic": {"cameraMatrix": MATRIX, "distCoeffs": coefficients, "cameraModel": "cam_PINHOLE"},
    }
    for side, baseline, coefficients in (
        ("left", 0.0, [-0.188116, 0.227419, 0, 0, 0]),
        ("right", 0.0900125, [-0.183758, 0.221971, 0, 0, 0]),
    )
}
BROKEN_CAMERA = {
    "/hcru1/pt_color/left/camera_info": {
        "baseline": 0.0,
        "intrinsic": {"cameraMatrix": [[800.0, 0, 1], [0, 0, 1], [0, 0, 1]], "distCoeffs": [0] * 5, "cameraModel": ""},
    }
}
CAMERA_TURN = [0.610880130, -0.602274129, 0.356558717, -0.370077318]
QUARTER_BACK = [0.0, 0.0, -ROOT_HALF, ROOT_HALF]
FRAMES = {
    ("imu", "sherpaTT_body"): {"translation": [-0.47, 0.0, -0.0021], "rotation": QUARTER_BACK},
    ("imu", "tcp_base"): {"translation": [0.0] * 3, "rotation": [0, 0, 0, 1]},
    ("tcp_base", "tcp"): {"translation": [0.0] * 3, "rotation": [0, 0, 0, 1]},
    ("tcp", "camera_left"): {"translation": [0.15, 0.045, 0.26], "rotation": CAMERA_TURN},
    ("camera_left", "velodyne"): {"translation": [-0.007, 0.396, 0.193], "rotation": [0, 0, 0, 1]},
    ("nav", "nav_current_submap"): {"translation": [0.0] * 3, "rotation": [1, 0, 0, 0]},
    ("nav_current_submap", "imu"): {"translation": [0.0] * 3, "rotation": [1, 0, 0, 0]},
    ("camera_left0", "imu0"): {"translation": [0.047, 0.258, -0.129], "rotation": [0, 0, 0, 1]},
}


def write_archive(root: Path) -> Path:
    """A folder as downloaded, each log of its own."""
    logs: dict[str, Streams] = {
        "sherpa_tt_mcs_Logger": {ODOMETRY: ("RigidBodyState", [state(time) for time in times()])},
        "sherpa_tt_mcs_Logger_Joints": {JOINTS: ("Joints", [joints(time) for time in times()])},
        "body_joint_Logger": {
            BODY_JOINT: (
                "RigidBodyState",
                [
                    state(time, frames=("velodyne_plane_moving", "velodyne_plane_fixed"), velocity=flat(sides=3))
                    for time in times()
                ],
            )
        },
        "dgps_Logger": {
            DGPS: ("RigidBodyState", [state(time, frames=("dgps", "dgps0"), orient=[1, 0, 0, 0]) for time in times()])
        },
        "sherpa_tt_slam_Logger": {CLOUD: ("Pointcloud", [cloud(time) for time in times()])},
        "velodyne_lidar_Logger": {SCANS: ("DepthMap", [depth_map(time) for time in times()])},
    }
    for name, streams in logs.items():
        write(root / f"{name}_InFuse.msg", log_of(streams))
    write_images(root)
    write(root / "recording_20181202_tf.msg", FRAMES)
    write(root / "recording_20181202_camera.msg", CAMERAS)
    return root


def write_images(root: Path) -> None:
    """The stereo unit's images in two parts, in nanoseconds."""
    for part, chosen in enumerate((times()[:3], times()[3:])):
        log: dict[str, Any] = {}
        for name in (LEFT, RIGHT):
            log[name] = [frame(time, scale=1000) for time in chosen]
            logged = [(time + LATE_US) * 1000 for time in chosen]
            log[f"{name}.meta"] = {"timestamps": logged, "type": "Frame"}
        write(root / f"recording_20181202_{part:09d}.msg", log)
