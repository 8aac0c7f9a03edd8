"""What a bag says about its topics is what rosbag2 of ROS 2 Jazzy would say."""

import numpy as np
import pytest
import yaml

from fieldplay.bags.metadata import information_text, metadata_text, topics_of_information
from fieldplay.bags.storage import (
    Channel,
    Contents,
    Qos,
    channel_of_type,
)
from fieldplay.core.errors import BagError
from fieldplay.streams.message_block import MessageBlock, messages_of_channel

FOREVER = {"sec": 9223372036, "nsec": 854775807}  # RMW_DURATION_INFINITE

BAG_OF_ONE_TOPIC = """\
rosbag2_bagfile_information:
  version: 9
  storage_identifier: mcap
  duration:
    nanoseconds: 15
  starting_time:
    nanoseconds_since_epoch: 1700000000000000005
  message_count: 2
  topics_with_message_count:
    - topic_metadata:
        name: /tf_static
        type: tf2_msgs/msg/TFMessage
        serialization_format: cdr
        offered_qos_profiles:
          - history: keep_last
            depth: 1
            reliability: reliable
            durability: transient_local
            deadline:
              sec: 9223372036
              nsec: 854775807
            lifespan:
              sec: 9223372036
              nsec: 854775807
            liveliness: automatic
            liveliness_lease_duration:
              sec: 9223372036
              nsec: 854775807
            avoid_ros_namespace_conventions: false
        type_description_hash: RIHS01_e369d0f05a23ae52508854b66f6aa0437f3449d652e8cbf22d5abe85d020f087
      message_count: 2
  compression_format: ""
  compression_mode: ""
  relative_file_paths:
    - trip_0.mcap
  files:
    - path: trip_0.mcap
      starting_time:
        nanoseconds_since_epoch: 1700000000000000005
      duration:
        nanoseconds: 15
      message_count: 2
  custom_data: ~
  ros_distro: jazzy
"""


def contents_of(*channels: Channel) -> Contents:
    contents = Contents()
    for channel in channels:
        contents.add_channel(channel)
    return contents


def test_metadata_equals_that_of_rosbag2() -> None:
    latched = Qos(durability="transient_local", depth=1)
    contents = contents_of(channel_of_type("/tf_static", "tf2_msgs/msg/TFMessage", latched))
    stamp_ns = np.array([0, 15]) + 1_700_000_000_000_000_005
    contents.add(messages_of_channel(1, stamp_ns, MessageBlock.of_rows(np.zeros((2, 8), np.uint8))))
    assert metadata_text(contents, storage="mcap", files={"trip_0.mcap": contents}) == BAG_OF_ONE_TOPIC


def test_empty_bag_has_no_topics_and_latest_start() -> None:
    information = yaml.safe_load(metadata_text(Contents(), storage="sqlite3", files={"a_0.db3": Contents()}))
    inside = information["rosbag2_bagfile_information"]
    assert inside["topics_with_message_count"] == []
    assert inside["starting_time"]["nanoseconds_since_epoch"] == 2**63 - 1
    assert inside["duration"]["nanoseconds"] == inside["message_count"] == 0


@pytest.mark.parametrize("name", ["1e5", "true", "a: b", "größe #1", '"', "\\n", "- x", "0x10", "null", ".inf", "a\nb"])
def test_awkward_names_are_read_back_unchanged(name: str) -> None:
    channel = Channel(topic="/" + name, msgtype=name, msgdef="", type_hash="")
    information = yaml.safe_load(information_text(contents_of(channel), storage="mcap", file=name))
    topic = information["topics_with_message_count"][0]["topic_metadata"]
    assert (topic["name"], topic["type"], topic["type_description_hash"]) == ("/" + name, name, "")
    assert information["relative_file_paths"] == [name] == [file["path"] for file in information["files"]]


def test_qos_is_written_as_list_of_one_profile() -> None:
    qos = Qos(reliability="best_effort", history="keep_all", depth=0)
    contents = contents_of(Channel(topic="/a", msgtype="b", msgdef="", type_hash="", qos=qos))
    information = yaml.safe_load(information_text(contents, storage="mcap", file="x"))
    assert information["topics_with_message_count"][0]["topic_metadata"]["offered_qos_profiles"] == [
        {
            "history": "keep_all",
            "depth": 0,
            "reliability": "best_effort",
            "durability": "volatile",
            "deadline": FOREVER,
            "lifespan": FOREVER,
            "liveliness": "automatic",
            "liveliness_lease_duration": FOREVER,
            "avoid_ros_namespace_conventions": False,
        }
    ]


def test_types_have_hash_and_complete_definition_of_jazzy() -> None:
    text = channel_of_type("/a", "std_msgs/msg/String")
    assert text.type_hash == "RIHS01_df668c740482bbd48fb39d76a70dfd4bd59db1288021743503259e948f6b1a18"
    imu = channel_of_type("/b", "sensor_msgs/msg/Imu")
    assert imu.type_hash == "RIHS01_7d9a00ff131080897a5ec7e26e315954b8eae3353c3f995c55faf71574000b5b"
    parts = [line.removeprefix("MSG: ") for line in imu.msgdef.splitlines() if line.startswith("MSG: ")]
    assert {"std_msgs/Header", "geometry_msgs/Quaternion", "geometry_msgs/Vector3"} <= set(parts)


def test_unknown_types_and_relative_topics_are_refused() -> None:
    with pytest.raises(BagError, match="'nav_msgs/msg/Oddity' is no message type"):
        channel_of_type("/a", "nav_msgs/msg/Oddity")
    with pytest.raises(BagError, match="starts with a slash, got 'imu'"):
        channel_of_type("imu", "sensor_msgs/msg/Imu")


def test_topic_cannot_be_added_twice() -> None:
    channel = channel_of_type("/a", "std_msgs/msg/String")
    with pytest.raises(BagError, match="/a stands in the bag already"):
        contents_of(channel, channel)


def test_messages_of_unknown_channels_are_refused() -> None:
    contents = contents_of(channel_of_type("/a", "std_msgs/msg/String"))
    for number in (0, 2, -1, 70_000):
        with pytest.raises(BagError, match="channels are 1 to 1"):
            contents.add(
                messages_of_channel(number, np.zeros(1, np.int64), MessageBlock.of_rows(np.zeros((1, 4), np.uint8)))
            )


def test_topics_without_name_or_type_are_ignored() -> None:
    topics = [{"name": None, "type": "a/msg/B"}, {"name": "/a"}, {"name": "/a", "type": 5}, {"name": "/a", "type": "B"}]
    information = {"topics_with_message_count": [{"topic_metadata": each} for each in topics]}
    assert [(topic.name, topic.msgtype) for topic in topics_of_information(information)] == [("/a", "B")]
