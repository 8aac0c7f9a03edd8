"""The node that hosts computations: parameters are their settings, and messages go in and out as the bytes they are."""

from collections import deque
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from rcl_interfaces.msg import ParameterDescriptor
from rclpy.clock import JumpHandle, JumpThreshold, TimeJump
from rclpy.duration import Duration
from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.qos import DurabilityPolicy, QoSProfile
from rclpy.qos_overriding_options import QoSOverridingOptions
from rclpy.subscription import Subscription
from rclpy.time import Time as AnyTime
from std_msgs.msg import String

from fieldplay.core.errors import ArchiveError
from fieldplay.geometry.transforms import Array, rotation_from_quaternion, transform_from_rotation
from fieldplay.kinematics.computation import (
    JUMPED_BACK,
    ON_TF,
    TF,
    Computation,
    FrameNames,
    Input,
    Output,
)
from fieldplay.kinematics.joint_transforms import JointTransforms
from fieldplay.messages.codec import FramedRecord
from fieldplay.messages.message_batches import Part
from fieldplay.messages.record_decoder import RecordDecoder
from fieldplay.streams.topic_stream import message_bytes
from tf2_ros import Buffer, TransformException, TransformListener

NEWS_NS = 500_000_000  # news of a jump may come so late: /clock and the data come by different ways
TF_STATIC = f"{TF}_static"
JUMPED = "the player jumped: starting anew"
NEW_CLOCK = "the source of time changed: starting anew"
JUMP = "player/jump"  # where the player in the namespace announces jumps of its play head
QUIET_S = 5.0  # between two warnings of one kind
SENT = "source_timestamp"
SENSOR, TF_QOS = QoSProfile(depth=200), QoSProfile(depth=100)
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
STATES = QoSProfile(depth=100, durability=DurabilityPolicy.TRANSIENT_LOCAL)  # changes that late messages may ask for


class ComputationNode(Node):
    """Feeds computations with the messages of their topics, one at a time, and publishes what they make of them.

    States have no stamps: their order relative to other messages is that of sending. A message that cannot be used is
    left out, with a warning. When time jumps back, later rows are forgotten. The player announces each jump, forward
    too: computations with state restart with the first message sent after it.
    """

    def __init__(self, name: str, *kinds: type[Computation], **options: Any) -> None:
        super().__init__(name, **options)
        settings: dict[str, Any] = {}
        for setting in {setting.name: setting for kind in kinds for setting in kind.settings}.values():
            settings[setting.name] = declare(self, setting.name, setting.default_among(settings), setting.meaning)
        self.computations = [one for kind in kinds for one in kind.create_all(settings)]
        outputs = {output.topic: output for one in self.computations for output in one.outputs}
        self._output_publishers = {topic: self._publisher(output) for topic, output in outputs.items()}
        self.links = TfLookup(self) if any(kind.needs_links for kind in kinds) else None
        for one in self.computations:
            one.warn = self._warn
            one.link = self.links or one.link
        self._jumps = jump_handle(self, self._forget) if any(kind.is_stateful for kind in kinds) else None
        self._jump_times_ns: deque[int] = deque()  # announced jumps after which no message has come yet
        self._since_ns = 0  # what was sent before is of another place
        self._states: list[Subscription] = []  # of states and jumps, which concern messages of other topics
        self._taken_ns = self._anew_ns = 0  # when the last message was sent, and the last that jumped back
        if self._jumps is not None:
            self._states.append(self.create_subscription(Time, JUMP, self._on_jump, QoSProfile(depth=10), raw=True))
        received: dict[tuple[str, str], list[tuple[Computation, Input]]] = {}
        for one in self.computations:
            for entry in one.inputs:
                received.setdefault((entry.topic, entry.msgtype), []).append((one, entry))
        self._has_states = any(entry.latched for readers in received.values() for _, entry in readers)
        self._waiting: deque[Sent] = deque()
        self._next_round = self.create_guard_condition(self._take_up)
        self._input_subscriptions = [
            self._subscription(InputSubscription(msgtype, readers)) for (_, msgtype), readers in received.items()
        ]

    def _publisher(self, output: Output) -> Publisher:
        profile = LATCHED if output.latched else TF_QOS if output.topic == TF else SENSOR
        return self.create_publisher(message_class(output.type), output.topic, profile)

    def _subscription(self, inlet: "InputSubscription") -> Any:
        entry = inlet.readers[0][1]
        overriding = QoSOverridingOptions.with_default_policies() if entry.overridable else None
        is_ordered = (self._has_states or self._jumps is not None) and not entry.latched

        def callback(data: bytes, info: Any) -> None:
            sent_ns = info[SENT]
            if is_ordered:
                self._receive_states()
                self._waiting.append((inlet, data, sent_ns))
                if self._jump_times_ns:  # messages of other topics may be on their way that were sent before the jump
                    self._next_round.trigger()
                else:
                    self._take_up()
            else:
                self._take(inlet, data, sent_ns)

        subscription = self.create_subscription(
            message_class(entry.msgtype), entry.topic, callback, STATES if entry.latched else SENSOR, raw=True,
            qos_overriding_options=overriding,
        )  # fmt: skip
        if entry.latched:
            self._states.append(subscription)
        return subscription

    def _receive_states(self) -> None:
        """Take states and jumps that have arrived: what was sent before a message is received before it.

        An executor asks one topic after the other for messages. A state that comes in right then is missed for that
        round, while the message that follows it is not.
        """
        for subscription in self._states:
            with subscription.handle:
                while (
                    received := subscription.handle.take_message(subscription.msg_type, subscription.raw)
                ) is not None:
                    subscription.callback(*received)

    def _take_up(self) -> None:
        """Take waiting messages in their order; those sent before a jump come before those sent after it."""
        while self._waiting:
            if self._jump_times_ns and self._waiting[0][2] >= self._jump_times_ns[0]:
                if older := [one for one in self._waiting if one[2] < self._jump_times_ns[0]]:
                    self._wait_for_more(older)
                    return
                self._restart(self._jump_times_ns.popleft())
            else:
                self._take(*self._waiting.popleft())

    def _wait_for_more(self, older: "list[Sent]") -> None:
        """Take what was sent before a jump; there may be more of it, by a topic that lags behind another."""
        self._waiting = deque(one for one in self._waiting if one[2] >= self._jump_times_ns[0])
        for one in older:
            self._take(*one)
        self._next_round.trigger()

    def _take(self, inlet: "InputSubscription", data: bytes, sent_ns: int) -> None:
        if sent_ns < self._since_ns and not inlet.readers[0][1].latched:
            return
        self._taken_ns = sent_ns
        try:
            decoded = inlet.decode(data, sent_ns if self._has_states else 0)
        except ValueError as error:
            self._leave_out(error)
            return
        for one, entry in inlet.readers:
            one.frames[entry.name] = FrameNames(decoded.frame, decoded.child_frame)
            try:
                for output, record in one.step(entry.name, decoded.record):
                    for message in message_bytes(record, output.in_frame(one.frames)):
                        self._output_publishers[output.topic].publish(message)
            except (ValueError, ArchiveError) as error:
                self._leave_out(error)

    def _leave_out(self, error: Exception) -> None:
        self.get_logger().warning(f"a message is left out: {error}", throttle_duration_sec=QUIET_S)

    def _warn(self, text: str) -> None:
        if text == JUMPED_BACK:
            self._anew_ns = self._taken_ns
            self.get_logger().warning(text)
        else:
            self.get_logger().warning(text, throttle_duration_sec=QUIET_S)

    def _on_jump(self, _: bytes, info: Any) -> None:
        if self._anew_ns < info[SENT]:  # else the messages showed it themselves
            self._jump_times_ns.append(info[SENT])

    def _restart(self, since_ns: int) -> None:
        """The play head has jumped: nothing goes on from what came before."""
        self._since_ns = since_ns
        self.get_logger().info(JUMPED)
        for one in self.computations:
            if one.is_stateful:
                one.reset()

    def _forget(self) -> None:
        """Forget what lies ahead; what came since the jump may have come before the clock's news of it."""
        for one in self.computations:
            one.forget(self.get_clock().now().nanoseconds + NEWS_NS)


class RobotModelNode(ComputationNode):
    """For where robot_state_publisher is not installed: the model and what stands still in it are offered, too.

    Joints that a message of joint states does not name keep the transforms that they have.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__("joint_transforms", JointTransforms, **options)
        (joints,) = self.computations
        assert isinstance(joints, JointTransforms)
        if not joints.setting_values["moving_only"]:
            self._offer(joints)
        model = joints.model
        self.get_logger().info(f"'{model.name}': {len(model.links)} links below '{model.root}'")

    def _offer(self, joints: JointTransforms) -> None:
        self._static = self.create_publisher(message_class(ON_TF.type), TF_STATIC, LATCHED)
        self._description = self.create_publisher(String, "robot_description", LATCHED)
        self._description.publish(String(data=joints.text))
        for message in message_bytes(joints.static_transforms(self.get_clock().now().nanoseconds), ON_TF):
            self._static.publish(message)


class InputSubscription:
    """A topic that is subscribed: how its messages are read, and who takes them."""

    def __init__(self, msgtype: str, readers: list[tuple[Computation, Input]]) -> None:
        self.readers = readers
        self._decoder = RecordDecoder(msgtype, strict=True)

    def decode(self, data: bytes, sent_ns: int) -> FramedRecord:
        """Decode a message as a record of one row."""
        part = Part(np.array([sent_ns]), np.frombuffer(data, np.uint8)[None])
        record = next(self._decoder.records([part]), None)
        if record is None:
            raise ValueError("its bytes cannot be read")
        return record


Sent = tuple[InputSubscription, bytes, int]  # a message of a topic, and when it was sent


class TfLookup:
    """Where one frame is in another by tf, as soon as it is known."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self.buffer = Buffer(node=node)
        self._listener = TransformListener(self.buffer, node)

    def __call__(self, parent: str, child: str) -> Array | None:
        """parent_T_child (4, 4) at the latest time that is known."""
        try:
            stamped = self.buffer.lookup_transform(parent, child, AnyTime()).transform
        except TransformException as error:
            self._node.get_logger().info(f"messages wait for tf: {error}", throttle_duration_sec=QUIET_S)
            return None
        return array_of(stamped)

    def at(self, parent: str, child: str, stamp_ns: int) -> Array | None:
        """parent_T_child (4, 4) at a time; None while it is not known."""
        try:
            stamped = self.buffer.lookup_transform(parent, child, AnyTime(nanoseconds=stamp_ns)).transform
        except TransformException:
            return None
        return array_of(stamped)


def array_of(transform: Any) -> Array:
    """Convert a geometry_msgs/Transform to a matrix (4, 4)."""
    turn, translation = transform.rotation, transform.translation
    rotation = rotation_from_quaternion([turn.x, turn.y, turn.z, turn.w])
    return transform_from_rotation(rotation, [translation.x, translation.y, translation.z])


def jump_handle(node: Node, reset: Callable[[], None]) -> JumpHandle:
    """Call `reset`, and say so in the log, when the node's clock goes back or changes between system and simulation.

    The node must keep what it gets: rclpy holds on to the handle by its address alone.
    """

    def on_jump(jump: TimeJump) -> None:
        back_s = -jump.delta.nanoseconds / 1e9
        node.get_logger().warning(f"time jumped back by {back_s:.3f} s: starting anew" if back_s > 0 else NEW_CLOCK)
        reset()

    threshold = JumpThreshold(min_forward=None, min_backward=Duration(nanoseconds=-1), on_clock_change=True)
    return node.get_clock().create_jump_callback(threshold, post_callback=on_jump)


def declare(node: Node, name: str, default: Any, meaning: str) -> Any:
    """Declare a parameter, and return its value."""
    return node.declare_parameter(name, default, ParameterDescriptor(description=meaning, read_only=True)).value


def careful(node: Node, act: Callable[[Any], None]) -> Callable[[Any], None]:
    """A callback that warns of a message that it can make nothing of, and goes on with the next."""

    def callback(message: Any) -> None:
        try:
            act(message)
        except ValueError as error:
            node.get_logger().warning(f"a message is left out: {error}", throttle_duration_sec=QUIET_S)

    return callback


def ns_of(stamp: Time) -> int:
    """A time in nanoseconds."""
    return int(stamp.sec * 1_000_000_000 + stamp.nanosec)


def message_class(msgtype: str) -> Any:
    """The class of a message type such as "sensor_msgs/msg/Imu"."""
    package, _, name = msgtype.split("/")
    return getattr(import_module(f"{package}.msg"), name)
