"""Bags of a stereo camera before a wall, whose distance is known, and a chain that makes clouds of them."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from fieldplay.bags.storage import channel_of_type
from fieldplay.bags.writer import BagWriter
from fieldplay.geometry.camera_model import CameraModel
from fieldplay.messages.records import Odometry, Pixels
from fieldplay.messages.stream_spec import StreamSpec
from fieldplay.streams.image_topics import camera_info_rows, image_message
from fieldplay.streams.message_block import MessageBlock, messages_of_channel
from fieldplay.streams.topic_stream import message_bytes
from fieldplay_cdff.steps.values import Array

WIDTH, HEIGHT, FOCAL_PX, BASELINE_M, SHIFT_PX = 192, 144, 200.0, 0.1, 16
WALL_M = FOCAL_PX * BASELINE_M / SHIFT_PX
STAMPS_NS = [1_600_000_000_000_000_000 + 250_000_000 * row for row in range(4)]
LEFT = CameraModel(
    width=WIDTH, height=HEIGHT, fx=FOCAL_PX, fy=FOCAL_PX, cx=95.5, cy=71.5, distortion_model="plumb_bob",
    distortion=(0.0,) * 5,
)  # fmt: skip
RIGHT = replace(LEFT, projection=(200, 0, 95.5, -FOCAL_PX * BASELINE_M, 0, 200, 71.5, 0, 0, 0, 1, 0))
CHAIN = """\
name: Wall
doc: Cloud of each pair
topic: wall
input_ports: [{name: leftImage, type: asn1SccFrame, doc: left}, {name: rightImage, type: asn1SccFrame, doc: right}]
output_ports: [{name: pointCloud, type: asn1SccPointcloud, doc: cloud}]
implementations:
  - name: Plain
    dfns: [{dfn_id: stereo, name: StereoReconstruction, implementation: HirschmullerDisparityMapping}]
    input_connections:
      - {dfpc_input: leftImage, dfn_id: stereo, port: left}
      - {dfpc_input: rightImage, dfn_id: stereo, port: right}
    output_connections: [{dfpc_output: pointCloud, dfn_id: stereo, port: pointcloud}]
"""
SETTINGS = ["stereo.Disparities.NumberOfIntervals=32", "stereo.BlocksMatching.BlockSize=9"]
Pair = tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]


def pair(row: int) -> Pair:
    wall = np.random.default_rng(row).integers(0, 256, (HEIGHT, WIDTH + SHIFT_PX), np.uint8)
    return wall[:, :WIDTH], wall[:, SHIFT_PX:]


def write_bag(
    path: Path,
    pairs: list[Pair],
    *,
    left: CameraModel = LEFT,
    right: CameraModel | None = RIGHT,
    position: str = "/cam",
    right_late_ns: int = 0,
    odometry: Array | None = None,
) -> Path:
    """A bag of ROS 2 as a driver would record it, with the left camera's constant position (3,) in map if given."""
    with BagWriter(path) as writer:
        if odometry is not None:
            _write_odometry(writer, odometry)
        for side, name, camera in ((0, "left", left), (1, "right", right)):
            image = writer.add_channel(channel_of_type(f"{position}/{name}/image_raw", "sensor_msgs/msg/Image"))
            for left_ns, images in zip(STAMPS_NS, pairs, strict=False):
                stamp_ns = left_ns + side * right_late_ns
                height, width = images[side].shape
                data = np.ascontiguousarray(images[side]).tobytes()
                pixels = Pixels(height=height, width=width, encoding="mono8", step=width, data=data)
                message = b"".join(image_message(pixels, stamp_ns, f"{name}_camera"))
                writer.write(messages_of_channel(image, np.array([stamp_ns]), MessageBlock.of_messages([message])))
            if camera is not None:
                info = writer.add_channel(
                    channel_of_type(f"{position}/{name}/camera_info", "sensor_msgs/msg/CameraInfo")
                )
                data, rows = camera_info_rows(camera, f"{name}_camera").rows(1)
                rows["header.stamp.sec"] = STAMPS_NS[0] // 10**9
                message = data.tobytes()
                writer.write(messages_of_channel(info, np.array(STAMPS_NS[:1]), MessageBlock.of_messages([message])))
    return path


def _write_odometry(writer: BagWriter, position_m: Array) -> None:
    count = len(STAMPS_NS)
    record = Odometry(
        stamp_ns=np.array(STAMPS_NS), position_m=np.tile(position_m, (count, 1)),
        orientation_xyzw=np.tile([0.0, 0.0, 0.0, 1.0], (count, 1)), pose_covariance=np.zeros((count, 6, 6)),
        linear_velocity_m_s=np.zeros((count, 3)), angular_velocity_rad_s=np.zeros((count, 3)),
        twist_covariance=np.zeros((count, 6, 6)),
    )  # fmt: skip
    spec = StreamSpec(
        id="odometry", topic="/odom", type="nav_msgs/msg/Odometry", frame="map", child_frame="left_camera"
    )
    channel = writer.add_channel(channel_of_type(spec.topic, spec.type))
    block = MessageBlock.of_messages(message_bytes(record, spec))
    writer.write(messages_of_channel(channel, np.array(STAMPS_NS), block))
