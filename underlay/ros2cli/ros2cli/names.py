"""Topic and service names, listings of them, and the classes behind type names."""

from __future__ import annotations

import argparse
import importlib
import sys
from typing import Any

from rclpy.exceptions import InvalidTopicNameException
from rclpy.expand_topic_name import expand_topic_name
from rclpy.node import Node
from rclpy.topic_or_service_is_hidden import topic_or_service_is_hidden
from rclpy.validate_full_topic_name import validate_full_topic_name

from ros2cli.direct_node import spin_for
from ros2cli.options import Argument

_POLL_S = 0.1


def shown(names_and_types: list[tuple[str, list[str]]], *, hidden_too: bool) -> list[tuple[str, list[str]]]:
    """Return the entries a listing shows: those with a hidden name only on request."""
    return [entry for entry in names_and_types if hidden_too or not topic_or_service_is_hidden(entry[0])]


def absolute(name: str) -> str:
    """Return ``name`` with its leading slash."""
    return name if name.startswith("/") else f"/{name}"


def node_names(node: Node, *, hidden_too: bool) -> list[str]:
    """Return the full names of all nodes but the command's own, in order; as often as there are nodes of that name."""
    names = [
        f"{namespace.rstrip('/')}/{name}"
        for name, namespace in node.get_node_names_and_namespaces()
        if hidden_too or not name.startswith("_")
    ]
    return sorted(name for name in names if name != node.get_fully_qualified_name())


def full_topic_name(node: Node, topic: str) -> str:
    """Return the absolute name that ``topic`` has for ``node``; RuntimeError when it is no topic name."""
    try:
        name = expand_topic_name(topic, node.get_name(), node.get_namespace())
        validate_full_topic_name(name)
    except (ValueError, InvalidTopicNameException) as error:
        raise RuntimeError(str(error)) from None
    return str(name)


def find_interface(type_name: str, kind: str) -> Any:
    """Return the class of ``pkg/kind/Name`` or ``pkg/Name``; ``kind`` is msg or srv.

    Raises:
        LookupError: there is no such class.
        TypeError: it is of another kind.
    """
    parts = type_name.split("/")
    if len(parts) == 2:
        parts.insert(1, kind)
    marks = ("SLOT_TYPES",) if kind == "msg" else ("Request", "Response")
    try:
        interface = getattr(importlib.import_module(".".join(parts[:-1])), parts[-1])
    except (AttributeError, ModuleNotFoundError, ValueError):
        raise LookupError(f"no interface '{type_name}'") from None
    if not all(hasattr(interface, mark) for mark in marks):
        raise TypeError(f"'{type_name}' is no {kind}")
    return interface


def topic_class(node: Node, topic: str) -> Any | None:
    """Return the message class of ``topic`` (its full name) as discovered by now, or None if it is not known yet."""
    types = dict(node.get_topic_names_and_types()).get(topic)
    if not types:
        return None
    if len(types) > 1:
        raise RuntimeError(f"Cannot echo topic '{topic}', as it contains more than one type: [{', '.join(types)}]")
    try:
        return find_interface(types[0], "msg")
    except (LookupError, TypeError):
        raise RuntimeError(f"The message type '{types[0]}' is invalid") from None


def wait_for_topic_class(node: Node, topic: str) -> Any:
    """Return the message class of ``topic`` (its full name) as soon as somebody has it."""
    while (message_class := topic_class(node, topic)) is None:
        spin_for(node, _POLL_S)
    return message_class


def not_published_yet(topic: str) -> str:
    """Return the line that warns of a topic nobody has."""
    return f"WARNING: topic [{topic}] does not appear to be published yet\n"


def hidden(noun: str) -> Argument:
    """Return the option to count hidden ones in (`noun` is topics or services)."""
    return Argument(f"--include-hidden-{noun}", dest="hidden_too", action="store_true", help=f"Count hidden {noun} in")


def write_listed(names_and_types: list[tuple[str, list[str]]], args: argparse.Namespace) -> None:
    """Write what `list` shows of them."""
    for name, types in shown(names_and_types, hidden_too=args.hidden_too):
        sys.stdout.write(f"{name} [{', '.join(types)}]\n" if args.show_types else f"{name}\n")
