"""The commands and verbs there are, without importing any of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Verb:
    """Something that can be run; ``module`` is the one in ros2cli.verbs that does it."""

    summary: str
    module: str


@dataclass(frozen=True)
class Group:
    """A command that only holds verbs, and the flag that may stand before any of them."""

    summary: str
    verbs: Mapping[str, Verb]
    flag: str = ""
    flag_help: str = ""


COMMANDS: Mapping[str, Verb | Group] = {
    "bag": Group(
        "What can be done with bags",
        {
            "info": Verb("Tell what is in a bag", "bag_info"),
            "play": Verb("Play a bag", "bag_play"),
            "record": Verb("Record topics into a bag", "bag_record"),
        },
    ),
    "launch": Verb("Start what a launch file describes", "launch"),
    "run": Verb("Run an executable of a package", "run"),
    "service": Group(
        "What can be done with services",
        {
            "call": Verb("Call a service", "service_call"),
            "list": Verb("List the services there are", "service_list"),
        },
        "--include-hidden-services",
        "Count hidden services in",
    ),
    "topic": Group(
        "What can be done with topics",
        {
            "echo": Verb("Write out the messages of a topic", "topic_echo"),
            "hz": Verb("Write out how often a topic's messages come", "topic_hz"),
            "info": Verb("Tell the type and the endpoints of a topic", "topic_info"),
            "list": Verb("List the topics there are", "topic_list"),
        },
        "--include-hidden-topics",
        "Count hidden topics in",
    ),
}
