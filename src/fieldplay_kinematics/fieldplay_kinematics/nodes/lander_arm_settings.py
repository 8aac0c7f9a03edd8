"""The parameters of InSight's arm, named as the settings in the description of its dataset."""

from typing import Any

from rclpy.node import Node

from fieldplay_kinematics.nodes.messages import given

TOOL = "x, y, z in the effector and the turn of its approach axis"
NUMBERS = {
    "naif_a_m": "NAIF's lengths along x, by joint",
    "naif_d_m": "NAIF's lengths along z",
    "sis_a_m": "the archive's document's lengths along x",
    "sis_d_m": "its lengths along z",
    "alpha_rad": "twists, by joint",
    "blade_1": TOOL,
    "blade_2": TOOL,
    "scoop": TOOL,
    "idc": f"{TOOL}, for a wrist at zero: it sits on the forearm",
    "wrist": TOOL,
    "grapple_attach": TOOL,
    "hang_m": "how far grapple, SEIS, WTS and HP3 hang below the grapple's attachment",
    "gravity_direction": "in the payload frame",
    "payload_kg": "masses of SEIS, WTS and HP3",
    "link_kg": "masses of the links",
    "link_centres_m": "their centres x, y, z, link by link, in their joints",
    "shift_by_force": "compliance: matrices of the links, row by row, in m/N",
    "turn_by_force": "compliance in rad/N",
    "shift_by_moment": "compliance in m/(N m)",
    "turn_by_moment": "compliance in rad/(N m)",
}


def declared_settings(node: Node) -> dict[str, Any]:
    """The settings, from a node's parameters."""
    settings = {name: given(node, name, [0.0], meaning) for name, meaning in NUMBERS.items()}
    settings["gravity_m_s2"] = given(node, "gravity_m_s2", 0.0, "how strong it is")
    settings["compliance_scale"] = given(node, "compliance_scale", 1.0, "by which all compliance is multiplied")
    settings["dh_set"] = given(node, "dh_set", "auto", "the lengths: 'auto' is the archive's own, else 'naif' or 'sis'")
    settings["tool_numbering"] = given(
        node, "tool_numbering", "table14", "tools 2 and 3: scoop and IDC as in 'table14', or the order of 'flight'"
    )
    return settings
