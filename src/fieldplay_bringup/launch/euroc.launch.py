"""EuRoC and recordings in the ASL layout: the player. Arguments: ros2 launch ... --show-args."""

from fieldplay_bringup.describe import describe
from launch import LaunchDescription


def generate_launch_description() -> LaunchDescription:
    """Everything that belongs to the dataset."""
    return describe("euroc")
