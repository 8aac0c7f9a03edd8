"""SherpaTT: the player, the joints of the legs, the path. Arguments: ros2 launch ... --show-args."""

from fieldplay_bringup.describe import describe
from launch import LaunchDescription


def generate_launch_description() -> LaunchDescription:
    """Everything that belongs to the dataset."""
    return describe("sherpatt")
