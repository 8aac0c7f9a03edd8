"""The programs of this package."""

from fieldplay_fusion.evaluation.odometry_evaluation import OdometryEvaluation
from fieldplay_fusion.integrity.sensor_integrity import SensorIntegrity
from fieldplay_fusion.nodes.orchestrator import Orchestrator
from fieldplay_fusion.nodes.overlay import Overlay
from fieldplay_fusion.nodes.pipeline_node import PipelineNode
from fieldplay_fusion.nodes.products_node import ProductsNode
from fieldplay_kinematics.nodes.host import ComputationNode
from fieldplay_kinematics.nodes.node_program import NodeProgram

odometry_evaluation = NodeProgram(ComputationNode, "odometry_evaluation", OdometryEvaluation)
orchestrator = NodeProgram(Orchestrator)
overlay = NodeProgram(Overlay)
pipeline = NodeProgram(PipelineNode)
products = NodeProgram(ProductsNode)
sensor_integrity = NodeProgram(ComputationNode, "sensor_integrity", SensorIntegrity)
