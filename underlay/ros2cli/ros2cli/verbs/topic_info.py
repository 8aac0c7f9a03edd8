"""ros2 topic info."""

from __future__ import annotations

import argparse
import sys

from ros2cli.direct_node import add_node_arguments, direct_node, wait_for_endpoints


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    add_node_arguments(parser)
    parser.add_argument("topic_name", help="Full name of the topic (e.g. '/chatter')")
    parser.add_argument(
        "--verbose",
        "-v",
        action="store_true",
        help="Write the node, the type hash, the GID and the QoS profile of each endpoint too",
    )


def main(args: argparse.Namespace) -> str | None:
    """Write type and number of endpoints, or return what is wrong."""
    topic = args.topic_name
    end = "\n\n" if args.verbose else "\n"
    with direct_node(use_sim_time=args.use_sim_time) as node:
        wait_for_endpoints(node, topic, args.spin_time)
        types = dict(node.get_topic_names_and_types()).get(topic)
        if types is None:
            return f"Unknown topic '{topic}'"
        publishers = node.get_publishers_info_by_topic(topic)
        subscriptions = node.get_subscriptions_info_by_topic(topic)
    parts: list[object] = [f"Type: {types[0] if len(types) == 1 else types}"]
    parts += [f"Publisher count: {len(publishers)}", *(publishers if args.verbose else [])]
    parts += [f"Subscription count: {len(subscriptions)}", *(subscriptions if args.verbose else [])]
    sys.stdout.writelines(f"{part}{end}" for part in parts)
    return None
