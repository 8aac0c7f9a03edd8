from array import array

import pytest
from geometry_msgs.msg import PoseArray, PoseWithCovariance, TwistStamped
from sensor_msgs.msg import JointState
from std_msgs.msg import Byte, String
from std_srvs.srv import SetBool

from ros2cli.populate import set_fields


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
