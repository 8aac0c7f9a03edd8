"""A pipeline of fusion, on an archive of a dataset or on live topics. Arguments: ros2 launch ... --show-args."""

from fieldplay_bringup.fusion_launch import describe_fusion
from launch import LaunchDescription


def generate_launch_description() -> LaunchDescription:
    """The pipeline, and the dataset where one is named."""
    return describe_fusion()
