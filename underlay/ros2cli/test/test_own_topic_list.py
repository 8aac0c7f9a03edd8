import argparse

import pytest

from ros2cli.verbs import topic_list
from ros2cli.verbs.topic_list import Topic, listing

TOPICS = [
    Topic("/a", ["std_msgs/msg/String"], 2, 1),
    Topic("/b", ["std_msgs/msg/Int8", "std_msgs/msg/String"], 1, 0),
    Topic("/c", ["std_msgs/msg/String"], 0, 3),
]
VERBOSE = """\
Published topics:
 * /a [std_msgs/msg/String] 2 publishers
 * /b [std_msgs/msg/Int8, std_msgs/msg/String] 1 publisher

Subscribed topics:
 * /a [std_msgs/msg/String] 1 subscriber
 * /c [std_msgs/msg/String] 3 subscribers

"""


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ([], "/a\n/b\n/c\n"),
        (
            ["-t"],
            "/a [std_msgs/msg/String]\n/b [std_msgs/msg/Int8, std_msgs/msg/String]\n/c [std_msgs/msg/String]\n",
        ),
        (["-c"], "3\n"),
        (["-c", "-v"], "3\n"),
        (["-v"], VERBOSE),
    ],
)
def test_the_options_choose_the_form(words, text):
    parser = argparse.ArgumentParser()
    topic_list.add_arguments(parser)
    assert listing(TOPICS, parser.parse_args(words)) == text


@pytest.mark.parametrize(("word", "text"), [("-t", ""), ("-v", ""), ("-c", "0\n")])
def test_an_empty_graph_is_no_error(word, text):
    parser = argparse.ArgumentParser()
    topic_list.add_arguments(parser)
    assert listing([], parser.parse_args([word])) == text
