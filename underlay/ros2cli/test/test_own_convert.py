from array import array

import pytest
import yaml
from geometry_msgs.msg import PoseWithCovariance, Twist, Vector3
from sensor_msgs.msg import JointState, LaserScan
from std_msgs.msg import Byte, ByteMultiArray, Header, String

from ros2cli.convert import Style, message_to_csv, message_to_yaml

JOINTS = JointState(
    header=Header(frame_id="base"),
    name=["left", "right"],
    position=[0.5, -1e-7, float("nan")],
)
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


def test_flow_style_puts_arrays_in_one_line_each():
    assert message_to_yaml(JOINTS, Style(), flow_style=True) == (
        "header:\n"
        "  stamp:\n"
        "    sec: 3\n"
        "    nanosec: 0\n"
        "  frame_id: base\n"
        "name: [left, right]\n"
        "position: [0.5, -1.0e-07, .nan]\n"
        "velocity: []\n"
        "effort: []\n"
    )


def test_a_byte_is_a_character_in_yaml_and_python_in_csv():
    assert message_to_yaml(Byte(data=b"2"), Style()) == "data: '2'\n"
    assert message_to_yaml(ByteMultiArray(data=[b"a", b"b"]), Style()).endswith("data:\n- a\n- b\n")
    assert message_to_csv(Byte(data=b"2"), Style()) == "b'2'"


def test_what_is_longer_than_the_limit_ends_in_dots():
    cut = Style(truncate_length=2)
    assert message_to_yaml(String(data="abc"), cut) == "data: ab...\n"
    assert message_to_yaml(String(data="ab"), cut) == "data: ab\n"
    assert yaml.safe_load(message_to_yaml(JOINTS, cut))["name"] == ["le...", "ri..."]
    assert yaml.safe_load(message_to_yaml(JOINTS, cut))["position"] == [0.5, -1e-7, "..."]
    assert message_to_csv(JOINTS, cut) == "3,0,ba...,le...,ri...,0.5,-1e-07,...,,"


def test_the_limit_holds_for_typed_and_fixed_size_arrays():
    cut = Style(truncate_length=1)
    assert "ranges:\n- 1.0\n- '...'\n" in message_to_yaml(LaserScan(ranges=array("f", [1, 2])), cut)
    pose = PoseWithCovariance()
    assert message_to_yaml(pose, cut).endswith("covariance:\n- 0.0\n- '...'\n")
    assert message_to_csv(pose, cut) == "0.0,0.0,0.0,0.0,0.0,0.0,1.0,0.0,..."


def test_no_arr_leaves_type_and_length():
    style = Style(no_arr=True)
    text = message_to_yaml(JOINTS, style)
    assert "name: '<sequence type: string, length: 2>'\nposition: '<sequence type: double, length: 3>'\n" in text
    assert message_to_yaml(PoseWithCovariance(), style).endswith("covariance: '<array type: double[36]>'\n")
    assert message_to_csv(PoseWithCovariance(), style).endswith(",<array type: double[36]>")


def test_no_arr_names_the_messages_of_a_sequence():
    from geometry_msgs.msg import PoseArray

    assert "poses: '<sequence type: geometry_msgs/msg/Pose, length: 0>'" in message_to_yaml(
        PoseArray(), Style(no_arr=True)
    )


def test_no_str_leaves_the_length():
    assert message_to_yaml(String(data="abc"), Style(no_str=True)) == "data: '<string length: <3>>'\n"
    assert message_to_csv(String(data="abc"), Style(no_str=True)) == "<string length: <3>>"


def test_csv_is_one_line_through_all_levels():
    assert message_to_csv(Twist(linear=Vector3(x=1.0, z=-2.5)), Style()) == "1.0,0.0,-2.5,0.0,0.0,0.0"


@pytest.mark.parametrize(("frame", "line"), [("", "0,0,"), ("map", "0,0,map")])
def test_csv_keeps_an_empty_cell_behind_others(frame, line):
    assert message_to_csv(Header(frame_id=frame), Style()) == line
