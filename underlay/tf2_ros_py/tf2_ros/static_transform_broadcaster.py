"""Publishes transforms that hold for ever."""

from collections.abc import Iterable
from copy import deepcopy

from geometry_msgs.msg import TransformStamped
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile
from tf2_msgs.msg import TFMessage

from .transform_broadcaster import as_list


class StaticTransformBroadcaster:
    """Publishes on ``/tf_static`` for listeners present and to come.

    A late listener gets the last message only, so each message repeats all transforms sent so far.
    """

    def __init__(self, node: Node, qos: QoSProfile | int | None = None) -> None:
        """Make the publisher; without ``qos``, reliable and transient local with a depth of 1."""
        if qos is None:
            qos = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        self.pub_tf = node.create_publisher(TFMessage, "/tf_static", qos)
        self.net_message = TFMessage()

    def sendTransform(self, transform: TransformStamped | Iterable[TransformStamped]) -> None:
        """Add one transform or several, each in place of an earlier one of the same child, and publish all."""
        known = {sent.child_frame_id: sent for sent in self.net_message.transforms}
        known.update((new.child_frame_id, deepcopy(new)) for new in as_list(transform))
        self.net_message.transforms = list(known.values())
        self.pub_tf.publish(self.net_message)
