"""The parameters of a base with steered front wheels, named as the settings in the description of a dataset."""

from rclpy.node import Node

from fieldplay_kinematics.ackermann_odometry import ARCS, AUTHORS, AckermannSettings, ackermann_from_settings
from fieldplay_kinematics.nodes.messages import given

NUMBERS = {
    "wheelbase_m": "from the rear axle to the front one",
    "track_m": "from wheel to wheel of the rear axle; for the wheels' frames alone",
    "wheel_diameter_m": "of the rear wheels",
    "noise_limit_rpm": "a wheel that is said to turn faster is not believed",
    "speed_std_m_s": "standard deviation of the speed that is always there",
    "speed_share": "and its part that grows with the speed, in parts of it",
    "one_wheel_share": "and another where one rear wheel alone is believed",
    "slide_share": "standard deviation of the slide to the side, in parts of the speed",
    "steering_std_deg": "standard deviation of the steering angle",
    "turn_rate_std_rad_s": "standard deviation of the turn rate that is always there",
}


def declared_settings(node: Node) -> AckermannSettings:
    """The settings, from a node's parameters."""
    settings = {name: given(node, name, 0.0, meaning) for name, meaning in NUMBERS.items()}
    settings["integration"] = given(
        node, "integration", ARCS, f"'{ARCS}' over the real time, or '{AUTHORS}': as in the published bags"
    )
    settings["longest_step_s"] = given(node, "longest_step_s", 1.0, "a longer gap is not driven through to its end")
    settings["path_step_m"] = given(node, "path_step_m", 1.0, "from pose to pose of the path, while it is short")
    settings["path_poses"] = given(node, "path_poses", 1000, "the path is thinned by half before it has more poses")
    return ackermann_from_settings(settings)
