"""Large messages go to the middleware where they lie, small ones by rclpy's bytes, and all of them as they are."""

import time

import pytest
from rclpy.serialization import serialize_message
from sensor_msgs.msg import CompressedImage

from fieldplay_ros import live_sink
from fieldplay_ros.live_sink import sender_of, sender_of_large
from fieldplay_testing.nodes.node_stage import MEET_PATIENCE_S as PATIENCE_S
from fieldplay_testing.nodes.node_stage import TopicRecorder

TOPIC = "/large"


def test_messages_are_published_unchanged_and_by_rclpy_without_rcl_function(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    listener = TopicRecorder()
    try:
        listener.subscribe(TOPIC, "sensor_msgs/msg/CompressedImage")
        publisher = listener.node.create_publisher(CompressedImage, TOPIC, 10)
        publish, by_rclpy = publisher.publish, []

        def publish_and_note(data: bytes) -> None:
            by_rclpy.append(len(data))
            publish(data)

        monkeypatch.setattr(publisher, "publish", publish_and_note)
        send, send_small = sender_of_large(publisher), sender_of(publisher)
        end = time.monotonic() + PATIENCE_S
        while not publisher.get_subscription_count():
            assert time.monotonic() < end
        large, small = (CompressedImage(format=f"of {count}", data=bytes(range(256)) * count) for count in (400, 4))
        with publisher.handle:
            for each, message in ((send, large), (send_small, small), (send, large)):
                each(serialize_message(message))
        listener.wait(lambda: len(listener.received[TOPIC]) == 3, lambda: len(listener.received[TOPIC]))
        assert listener.received[TOPIC] == [large, small, large]
        assert not by_rclpy
        monkeypatch.setattr(live_sink, "LIBRARY", "librcl_of_another_name.so")
        sender_of_large(publisher)(serialize_message(large))
        assert by_rclpy == [len(serialize_message(large))]
    finally:
        listener.close()
