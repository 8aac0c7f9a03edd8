"""The programs of this package."""

from fieldplay.dust.sensor_integrity import SensorIntegrity
from fieldplay.trajectories.odometry_evaluation import OdometryEvaluation
from fieldplay_ros.computation_node import ComputationNode
from fieldplay_ros.node_program import NodeProgram
from fieldplay_ros.orchestrator import Orchestrator
from fieldplay_ros.overlay import Overlay
from fieldplay_ros.pipeline_node import PipelineNode
from fieldplay_ros.products_node import ProductsNode

odometry_evaluation = NodeProgram(ComputationNode, "odometry_evaluation", OdometryEvaluation)
orchestrator = NodeProgram(Orchestrator)
overlay = NodeProgram(Overlay)
pipeline = NodeProgram(PipelineNode)
products = NodeProgram(ProductsNode)
sensor_integrity = NodeProgram(ComputationNode, "sensor_integrity", SensorIntegrity)
