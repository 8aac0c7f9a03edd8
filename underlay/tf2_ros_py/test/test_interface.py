"""Where the names are, and what is left out."""

import importlib

import pytest

import tf2_ros
from tf2_ros import Buffer, TransformListener


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("buffer", "Buffer"),
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
    with pytest.raises(AttributeError, match=r"transform .* does not cover it"):
        Buffer().transform(None, "map")
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
