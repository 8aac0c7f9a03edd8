"""The programs of this package: each runs the node of its name.

A computation needs no program of its own code: a console script that names `fieldplay_ros.programs:main`, here or in
the package of a plug-in, runs a node that hosts the computation of the script's name.
"""

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from fieldplay.kinematics.computation import computation_kind
from fieldplay_ros.computation_node import ComputationNode
from fieldplay_ros.node_program import NodeProgram

NODES = {  # by program, the node where it is no plain host of computations
    "joint_transforms": "fieldplay_ros.computation_node:RobotModelNode",
    "orchestrator": "fieldplay_ros.orchestrator:Orchestrator",
    "overlay": "fieldplay_ros.overlay:Overlay",
    "pipeline": "fieldplay_ros.pipeline_node:PipelineNode",
    "products": "fieldplay_ros.products_node:ProductsNode",
}
KINDS = {  # by program, the kinds of computations that it hosts where these are not the one of its name
    "lander_arm_tcp": ("lander_arm",),
    "wheel_odometry": ("wheel_odometry", "expected_wheels"),
}
NODE_NAMES = {"lander_arm_tcp": "arm_tcp"}


def program(name: str) -> NodeProgram:
    """The program of a name; ArchiveError where neither a node nor a computation has it."""
    if name in NODES:
        module, _, attribute = NODES[name].partition(":")
        node: Any = getattr(import_module(module), attribute)
        return NodeProgram(node)
    kinds = [computation_kind(kind) for kind in KINDS.get(name, (name,))]
    return NodeProgram(ComputationNode, NODE_NAMES.get(name, name), *kinds)


def main() -> int:
    """Run the node that the executable is named after."""
    return program(Path(sys.argv[0]).name)()
