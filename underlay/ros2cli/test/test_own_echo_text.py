import argparse

import pytest
from geometry_msgs.msg import TwistStamped
from sensor_msgs.msg import PointCloud2
from std_msgs.msg import String

from ros2cli.verbs.topic_verbs import VERBS, Echo


@pytest.fixture
def echo(capsys):
    """What is written of a message with the given options."""

    def write(message, *words):
        parser = argparse.ArgumentParser()
        VERBS["echo"].fill(parser)
        Echo(parser.parse_args(["/topic", *words])).write(message)
        return capsys.readouterr().out

    return write


def test_a_message_is_a_yaml_document(echo):
    assert echo(String(data="word")) == "data: word\n---\n"


def test_a_field_is_written_as_what_it_is(echo):
    message = TwistStamped()
    message.header.frame_id = "base"
    assert echo(message, "--field", "twist.angular") == "x: 0.0\ny: 0.0\nz: 0.0\n---\n"
    assert echo(message, "--field", "header.frame_id") == "base\n---\n"
    assert echo(message, "--field", "twist.linear.x") == "0.0\n---\n"


def test_long_arrays_are_cut_unless_told_otherwise(echo):
    cloud = PointCloud2(data=[7] * 200)
    assert echo(cloud).count("- 7\n") == 128
    assert "- 7\n- '...'\nis_dense" in echo(cloud)
    assert echo(cloud, "-l", "3").count("- 7\n") == 3
    assert echo(cloud, "--full-length").count("- 7\n") == 200


def test_arrays_can_be_left_out(echo):
    assert "data: '<sequence type: uint8, length: 2>'\n" in echo(PointCloud2(data=[7, 7]), "--no-arr")


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["--field", "."], "Invalid field value '.'"),
        (["--field", "data.nope"], "Invalid field 'data.nope': 'str' object has no attribute 'nope'"),
    ],
)
def test_options_that_make_no_sense_are_refused(echo, words, error):
    with pytest.raises(RuntimeError) as caught:
        echo(String(), *words)
    assert str(caught.value) == error
