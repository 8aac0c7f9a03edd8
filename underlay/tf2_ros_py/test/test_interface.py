"""The parts of the interface around lookups: registered types, and what is left out."""

import importlib

import pytest
from geometry_msgs.msg import PointStamped
from rclpy.duration import Duration
from rclpy.time import Time

import tf2_ros
from tf2_ros import (
    Buffer,
    BufferInterface,
    ConvertRegistration,
    NotImplementedException,
    Stamped,
    TransformListener,
    TransformRegistration,
    TypeException,
    convert,
)


class Spot:
    """A transformable thing with a place on one axis."""

    def __init__(self, x=0.0):
        self.x = x


class Mark(Spot):
    """Another, made from a Spot by way of a message."""


def moved(spot, transform):
    """Shift a spot, as a package of transformations would."""
    return Stamped(Spot(spot.x + transform.transform.translation.x), transform.header.stamp, transform.header.frame_id)


@pytest.fixture
def buffer(stamped):
    TransformRegistration().add(Spot, moved)
    made = Buffer()
    for seconds in (1, 2):
        made.set_transform(stamped("map", "base", seconds, (10 * seconds, 0, 0)), "test")
    return made


@pytest.fixture
def spot():
    return Stamped(Spot(1.0), Time(seconds=2).to_msg(), "base")


def test_a_registered_type_is_transformed_at_its_own_stamp(buffer, spot):
    result = buffer.transform(spot, "map")
    assert (result.x, result.header.frame_id, result.header.stamp.sec) == (21.0, "map", 2)


def test_a_registered_type_is_transformed_between_two_times(buffer, spot):
    result = buffer.transform_full(spot, "base", Time(seconds=1), "map", Duration())
    assert (result.x, result.header.frame_id, result.header.stamp.sec) == (11.0, "base", 1)


def test_the_result_is_converted_on_demand(buffer, spot):
    registry = ConvertRegistration()
    registry.add_to_msg(Spot, lambda it: PointStamped(header=it.header))
    registry.add_from_msg(Mark, lambda message: Stamped(Mark(5.0), message.header.stamp, message.header.frame_id))
    result = buffer.transform(spot, "map", new_type=Mark)
    assert (type(result), result.x, result.header.frame_id) == (Mark, 5.0, "map")
    registry.add_convert((Spot, Mark), lambda it: Mark(it.x))
    assert buffer.transform_full(spot, "map", Time(seconds=2), "map", new_type=Mark).x == 21.0


def test_conversion_to_its_own_type_copies():
    spot = Spot(3.0)
    copy = convert(spot, Spot)
    assert (type(copy), copy.x) == (Spot, 3.0)
    assert copy is not spot


def test_an_unregistered_type_is_refused_by_name(buffer):
    point = Stamped(PointStamped(), Time(seconds=1).to_msg(), "base")
    with pytest.raises(TypeException, match=r"PointStamped.* is not loaded or supported") as refused:
        buffer.transform(point, "map")
    assert "PointStamped" in refused.value.errstr
    with pytest.raises(TypeException, match="bytes"):
        convert(b"", int)


def test_the_interface_alone_implements_nothing():
    interface = BufferInterface()
    calls = [
        lambda: interface.lookup_transform("a", "b", Time()),
        lambda: interface.lookup_transform_full("a", Time(), "b", Time(), "c"),
        lambda: interface.can_transform("a", "b", Time()),
        lambda: interface.can_transform_full("a", Time(), "b", Time(), "c"),
    ]
    for call in calls:
        with pytest.raises(NotImplementedException, match=r"not implemented|^$"):
            call()


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("buffer", "Buffer"),
        ("buffer_interface", "BufferInterface"),
        ("buffer_interface", "TransformRegistration"),
        ("static_transform_broadcaster", "StaticTransformBroadcaster"),
        ("transform_broadcaster", "TransformBroadcaster"),
        ("transform_listener", "TransformListener"),
    ],
)
def test_names_are_found_where_upstream_has_them(module, name):
    assert getattr(importlib.import_module(f"tf2_ros.{module}"), name) is getattr(tf2_ros, name)


@pytest.mark.stand_in("upstream has them")
def test_what_is_left_out_says_so():
    with pytest.raises(ImportError, match=r"tf2_ros\.BufferClient is not covered by this stand-in"):
        exec("from tf2_ros import BufferClient")
    with pytest.raises(ImportError, match=r"BufferClient.*not covered by this stand-in"):
        importlib.import_module("tf2_ros.buffer_client")
    with pytest.raises(AttributeError, match=r"lookupVelocityCore .* does not cover it"):
        Buffer().lookupVelocityCore("a", "b", Time(), Duration())
    with pytest.raises(AttributeError, match="no attribute 'lookupTransform'"):
        Buffer().lookupTransform("a", "b")
    with pytest.raises(AttributeError, match="no attribute 'Buffers'"):
        tf2_ros.Buffers()


def test_unknown_keywords_are_refused():
    with pytest.raises(TypeError, match="static_only"):
        TransformListener(Buffer(), None, static_only=True)
    with pytest.raises(TypeError, match="clock"):
        Buffer(clock=None)
    with pytest.raises(TypeError, match=r"(cache_time|duration) must have"):
        Buffer(10.0)
