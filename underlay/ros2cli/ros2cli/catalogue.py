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
    "interface": Group(
        "What can be said of interfaces",
        {
            "list": Verb("List the interfaces there are", "interface_list"),
            "package": Verb("List the interfaces of a package", "interface_package"),
            "show": Verb("Write the definition of an interface", "interface_show"),
        },
    ),
    "launch": Verb("Start what a launch file describes", "launch"),
    "node": Group(
        "What can be said of nodes",
        {
            "info": Verb("Tell what a node publishes, hears and serves", "node_info"),
            "list": Verb("List the nodes there are", "node_list"),
        },
    ),
    "param": Group(
        "What can be done with parameters",
        {
            "delete": Verb("Delete a parameter", "param_delete"),
            "describe": Verb("Tell what a node says of its parameters", "param_describe"),
            "dump": Verb("Write the parameters of a node as YAML", "param_dump"),
            "get": Verb("Write the value of a parameter", "param_get"),
            "list": Verb("List the parameters there are", "param_list"),
            "load": Verb("Set the parameters that a file has", "param_load"),
            "set": Verb("Set a parameter", "param_set"),
        },
    ),
    "pkg": Group(
        "What can be said of packages",
        {
            "executables": Verb("List what `ros2 run` can run", "pkg_executables"),
            "list": Verb("List the packages there are", "pkg_list"),
            "prefix": Verb("Write where a package is installed", "pkg_prefix"),
        },
    ),
    "run": Verb("Run an executable of a package", "run"),
    "service": Group(
        "What can be done with services",
        {
            "call": Verb("Call a service", "service_call"),
            "find": Verb("List the services of a type", "service_find"),
            "info": Verb("Tell the type and the endpoints of a service", "service_info"),
            "list": Verb("List the services there are", "service_list"),
            "type": Verb("Write the type of a service", "service_type"),
        },
        "--include-hidden-services",
        "Count hidden services in",
    ),
    "topic": Group(
        "What can be done with topics",
        {
            "bw": Verb("Write out the bandwidth of a topic", "topic_bw"),
            "delay": Verb("Write out how old a topic's messages are by their headers", "topic_delay"),
            "echo": Verb("Write out the messages of a topic", "topic_echo"),
            "find": Verb("List the topics of a type", "topic_find"),
            "hz": Verb("Write out how often a topic's messages come", "topic_hz"),
            "info": Verb("Tell the type and the endpoints of a topic", "topic_info"),
            "list": Verb("List the topics there are", "topic_list"),
            "pub": Verb("Publish messages on a topic", "topic_pub"),
            "type": Verb("Write the type of a topic", "topic_type"),
        },
        "--include-hidden-topics",
        "Count hidden topics in",
    ),
}
