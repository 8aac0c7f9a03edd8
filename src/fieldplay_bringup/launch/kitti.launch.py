"""KITTI's raw drives and odometry sequences: the player. Arguments: ros2 launch ... --show-args."""

from fieldplay_bringup.describe import describe
from launch import LaunchDescription


def generate_launch_description() -> LaunchDescription:
    """Everything that belongs to the dataset."""
    return describe("kitti")
