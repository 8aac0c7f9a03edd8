from array import array

import pytest
import yaml
from geometry_msgs.msg import PoseArray, PoseWithCovariance, TwistStamped
from sensor_msgs.msg import JointState, LaserScan
from std_msgs.msg import Byte, Header, String
from std_srvs.srv import SetBool

from ros2cli.message_yaml import Style, message_to_yaml, set_fields

JOINTS = JointState(header=Header(frame_id="base"), name=["left", "right"], position=[0.5, -1e-7, float("nan")])
JOINTS.header.stamp.sec = 3


def test_yaml_has_the_fields_in_their_order():
    assert message_to_yaml(JOINTS, Style()) == (
        "header:\n"
        "  stamp:\n"
        "    sec: 3\n"
        "    nanosec: 0\n"
        "  frame_id: base\n"
        "name:\n"
        "- left\n"
        "- right\n"
        "position:\n"
        "- 0.5\n"
        "- -1.0e-07\n"
        "- .nan\n"
        "velocity: []\n"
        "effort: []\n"
    )


def test_yaml_quotes_what_needs_it_and_keeps_other_alphabets():
    assert message_to_yaml(String(data=""), Style()) == "data: ''\n"
    assert message_to_yaml(String(data="1.5"), Style()) == "data: '1.5'\n"
    assert message_to_yaml(String(data="grüße"), Style()) == "data: grüße\n"
    assert message_to_yaml(String(data="word " * 40 + "end"), Style()) == "data: " + "word " * 40 + "end\n"


def test_a_byte_is_a_character():
    assert message_to_yaml(Byte(data=b"2"), Style()) == "data: '2'\n"


def test_what_is_longer_than_the_limit_ends_in_dots():
    cut = Style(truncate_length=2)
    assert message_to_yaml(String(data="abc"), cut) == "data: ab...\n"
    assert message_to_yaml(String(data="ab"), cut) == "data: ab\n"
    assert yaml.safe_load(message_to_yaml(JOINTS, cut))["name"] == ["le...", "ri..."]
    assert yaml.safe_load(message_to_yaml(JOINTS, cut))["position"] == [0.5, -1e-7, "..."]


def test_the_limit_holds_for_typed_and_fixed_size_arrays():
    cut = Style(truncate_length=1)
    assert "ranges:\n- 1.0\n- '...'\n" in message_to_yaml(LaserScan(ranges=array("f", [1, 2])), cut)
    pose = PoseWithCovariance()
    assert message_to_yaml(pose, cut).endswith("covariance:\n- 0.0\n- '...'\n")


def test_no_arr_leaves_type_and_length():
    style = Style(no_arr=True)
    text = message_to_yaml(JOINTS, style)
    assert "name: '<sequence type: string, length: 2>'\nposition: '<sequence type: double, length: 3>'\n" in text
    assert message_to_yaml(PoseWithCovariance(), style).endswith("covariance: '<array type: double[36]>'\n")


def test_nested_fields_are_set_and_the_others_keep_their_defaults():
    message = TwistStamped()
    set_fields(message, {"header": {"frame_id": "map"}, "twist": {"linear": {"x": 2}}})
    assert (message.header.frame_id, message.twist.linear.x, message.twist.linear.y) == ("map", 2.0, 0.0)


def test_values_become_what_the_field_is():
    assert _filled(String, {"data": 5}).data == "5"
    assert _filled(SetBool.Request, {"data": 1}).data is True
    assert _filled(Byte, {"data": 7}).data == b"\x07"
    joints = _filled(JointState, {"name": ["a"], "position": [1, 2]})
    assert (joints.name, joints.position) == (["a"], array("d", [1.0, 2.0]))
    assert _filled(PoseWithCovariance, {"covariance": [1] * 36}).covariance.tolist() == [1.0] * 36


def test_sequences_of_messages_are_filled_one_by_one():
    poses = _filled(PoseArray, {"poses": [{"position": {"x": 1.0}}, {}]}).poses
    assert [(pose.position.x, pose.orientation.w) for pose in poses] == [(1.0, 1.0), (0.0, 1.0)]


def test_a_name_that_is_no_field_is_refused():
    for name in ("nope", "SLOT_TYPES"):
        with pytest.raises(AttributeError, match=f"'SetBool_Request' object has no attribute '{name}'"):
            _filled(SetBool.Request, {name: True})


def test_a_message_is_filled_from_a_mapping_only():
    with pytest.raises(TypeError, match="Value '3' is expected to be a dictionary but is a int"):
        _filled(TwistStamped, {"twist": 3})
    with pytest.raises(TypeError, match="Value 'None' is expected to be a dictionary but is a NoneType"):
        _filled(String, None)


def _filled(message_class, values):
    message = message_class()
    set_fields(message, values)
    return message
