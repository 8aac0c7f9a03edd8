"""IDA: the player and the arm on InSight's deck. Arguments: ros2 launch ... --show-args."""

from fieldplay_bringup.describe import describe
from launch import LaunchDescription


def generate_launch_description() -> LaunchDescription:
    """Everything that belongs to the dataset."""
    return describe("ida")
