"""The programs of this package."""

from fieldplay_fusion.nodes.overlay import Overlay
from fieldplay_fusion.odometry_evaluation import OdometryEvaluation
from fieldplay_fusion.sensor_integrity import SensorIntegrity
from fieldplay_kinematics.nodes.host import ComputationNode
from fieldplay_kinematics.nodes.running import Program

odometry_evaluation = Program(ComputationNode, "odometry_evaluation", OdometryEvaluation)
overlay = Program(Overlay)
sensor_integrity = Program(ComputationNode, "sensor_integrity", SensorIntegrity)
