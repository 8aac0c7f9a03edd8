"""The Rosario dataset: the player, and the odometry of wheels and steering. Arguments: ros2 launch ... --show-args."""

from fieldplay_bringup.describe import describe
from launch import LaunchDescription


def generate_launch_description() -> LaunchDescription:
    """Everything that belongs to the dataset."""
    return describe("rosario")
