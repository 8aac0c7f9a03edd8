import argparse

import pytest
from geometry_msgs.msg import Twist, TwistStamped
from sensor_msgs.msg import PointCloud2
from std_msgs.msg import String

from ros2cli.verbs import topic_echo

INFO = {"source_timestamp": 1, "received_timestamp": 2, "publication_sequence_number": 3}


@pytest.fixture
def echo(capsys):
    """What is written of a message with the given options."""

    def write(message, *words):
        parser = argparse.ArgumentParser()
        topic_echo.add_arguments(parser)
        topic_echo.Echo(parser.parse_args(["/topic", *words])).write(message, INFO)
        return capsys.readouterr().out

    return write


def test_a_message_is_a_yaml_document(echo):
    assert echo(String(data="word")) == "data: word\n---\n"
    assert "data: [7, 7]\n" in echo(PointCloud2(data=[7, 7]), "--flow-style")


def test_a_message_is_a_line_of_csv_without_an_end_mark(echo):
    assert echo(Twist(), "--csv") == "0.0,0.0,0.0,0.0,0.0,0.0\n"


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


def test_texts_and_arrays_can_be_left_out(echo):
    assert echo(String(data="word"), "--no-str") == "data: '<string length: <4>>'\n---\n"
    assert "data: '<sequence type: uint8, length: 2>'\n" in echo(PointCloud2(data=[7, 7]), "--no-arr")


def test_message_info_comes_first(echo):
    info = "publication_sequence_number: 3\nreceived_timestamp: 2\nsource_timestamp: 1\n"
    assert echo(String(data="word"), "-i") == f"{info}---\ndata: word\n---\n"
    assert echo(String(data="word"), "-i", "--csv") == "1,2,3,word\n"
    assert echo(b"raw", "-i") == f"---Got new message, message info:---\n{INFO}\n---Message data:---\nb'raw'\n---\n"


def test_the_filter_sees_the_field(echo):
    words = ("--csv", "--field", "linear", "--filter", "m.x > 0")
    message = Twist()
    assert echo(message, *words) == ""
    message.linear.x = 1.0
    assert echo(message, *words) == "1.0,0.0,0.0\n"


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["--field", "."], "Invalid field value '.'"),
        (["--field", "data.nope"], "Invalid field 'data.nope': 'str' object has no attribute 'nope'"),
        (["--filter", "m.x >"], "Invalid filter expression 'm.x >': invalid syntax"),
    ],
)
def test_options_that_make_no_sense_are_refused(echo, words, error):
    with pytest.raises(RuntimeError) as caught:
        echo(String(), *words)
    assert str(caught.value) == error
