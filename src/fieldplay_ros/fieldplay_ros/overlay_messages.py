"""Messages that become points, pictures and cameras, pixels that become a message, and what the overlay is told."""

from array import array

import numpy as np
from rclpy.node import Node
from sensor_msgs.msg import CameraInfo, CompressedImage, Image, LaserScan, PointCloud2
from std_msgs.msg import Header

from fieldplay.geometry.transforms import Array
from fieldplay.messages.image_pixels import Pixels, pixels_from_compressed, pixels_from_image
from fieldplay.projection.cameras import CameraModel, camera_from_numbers
from fieldplay.projection.overlays import ColourScale
from fieldplay.projection.points import SensorPoints, points_from_cloud, points_from_scan
from fieldplay_ros.computation_node import given
from sensor_msgs_py.point_cloud2 import read_points


def points_of(message: LaserScan | PointCloud2) -> SensorPoints:
    """The points of a scan or a cloud in its frame."""
    if isinstance(message, PointCloud2):
        return points_from_cloud(read_points(message).reshape(-1))
    return points_from_scan(
        message.ranges,
        angle_min_rad=message.angle_min,
        angle_increment_rad=message.angle_increment,
        time_increment_s=message.time_increment,
        limits_m=(message.range_min, message.range_max),
    )


def pixels_of(message: Image | CompressedImage) -> Pixels:
    """A picture (h, w, 3) in BGR."""
    return pixels_from_image(message) if isinstance(message, Image) else pixels_from_compressed(message)


def camera_of(info: CameraInfo, *, is_rectified: bool) -> CameraModel:
    """The camera as it took its pictures, or as they are once they are rectified."""
    matrix = info.p.reshape(3, 4)[:, :3] if is_rectified else info.k
    distortion = [] if is_rectified else info.d
    return camera_from_numbers(
        matrix, distortion, info.distortion_model, width=int(info.width), height=int(info.height)
    )


def image_of(pixels: Pixels, header: Header) -> Image:
    """Pixels (h, w, 3) in BGR as a message."""
    height, width = pixels.shape[:2]
    data = array("B", np.ascontiguousarray(pixels).tobytes())
    return Image(header=header, height=height, width=width, encoding="bgr8", step=3 * width, data=data)


def points_topic(node: Node) -> tuple[str, type]:
    """Where points come from, and as what."""
    scan = given(node, "scan", "", "topic of sensor_msgs/LaserScan, or")
    cloud = given(node, "cloud", "", "topic of sensor_msgs/PointCloud2; one of the two")
    if bool(scan) == bool(cloud):
        raise ValueError(f"expected a topic as scan or as cloud, got '{scan}' and '{cloud}'")
    return (scan, LaserScan) if scan else (cloud, PointCloud2)


def picture_topics(node: Node) -> tuple[str, str, str]:
    """The topics of the pictures, of their CameraInfo and of what is made of them."""
    image = given(node, "image", "image_raw", "topic of pictures; compressed ones where it ends with /compressed")
    camera = image.removesuffix("/compressed").rpartition("/")[0]
    beside = f"{camera}/" if camera or image.startswith("/") else ""
    info = given(node, "camera_info", "", "topic of their CameraInfo; empty: beside them")
    output = given(node, "output", "", "topic of the pictures with points; empty: overlay beside them")
    return image, info or f"{beside}camera_info", output or f"{beside}overlay"


def own_row(node: Node) -> Array | None:
    """camera_T_sensor (4, 4) that is used instead of tf, if one is given."""
    numbers = given(node, "camera_t_sensor", [0.0], "16 numbers, row by row, in place of tf; else tf places the points")
    if len(numbers) not in (1, 16):
        raise ValueError(f"camera_t_sensor: expected 16 numbers, got {len(numbers)}")
    return np.reshape(numbers, (4, 4)) if len(numbers) == 16 else None


def fixed_frame(node: Node) -> str:
    """The frame in which the motion between scan and picture is made up for, or none."""
    return str(given(node, "fixed_frame", "", "frame in which motion between scan and picture is made up for, or none"))


def colour_scale(node: Node) -> ColourScale | None:
    """The ranges at the ends of the colours, if they are given."""
    meaning = "metres at the ends of the colours; two equal ones: as fits the first picture with points"
    ends = given(node, "range_m", [0.0, 0.0], meaning)
    if len(ends) != 2:
        raise ValueError(f"range_m: expected two numbers, got {len(ends)}")
    return None if ends[0] == ends[1] else ColourScale(*ends)
