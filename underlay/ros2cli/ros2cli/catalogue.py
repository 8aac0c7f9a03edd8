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
    flag: str
    flag_help: str
    verbs: Mapping[str, Verb]


COMMANDS: Mapping[str, Verb | Group] = {
    "launch": Verb("Start what a launch file describes", "launch"),
    "run": Verb("Run an executable of a package", "run"),
    "service": Group(
        "What can be done with services",
        "--include-hidden-services",
        "Count hidden services in",
        {
            "call": Verb("Call a service", "service_call"),
            "list": Verb("List the services there are", "service_list"),
        },
    ),
    "topic": Group(
        "What can be done with topics",
        "--include-hidden-topics",
        "Count hidden topics in",
        {
            "echo": Verb("Write out the messages of a topic", "topic_echo"),
            "hz": Verb("Write out how often a topic's messages come", "topic_hz"),
            "info": Verb("Tell the type and the endpoints of a topic", "topic_info"),
            "list": Verb("List the topics there are", "topic_list"),
        },
    ),
}
