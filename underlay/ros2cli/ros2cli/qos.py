"""The QoS options of a subscribing verb, and the profile that suits the publishers there are."""

from __future__ import annotations

import argparse
import copy

from rclpy.qos import QoSDurabilityPolicy, QoSHistoryPolicy, QoSPresetProfiles, QoSProfile, QoSReliabilityPolicy
from rclpy.topic_endpoint_info import TopicEndpointInfo

from ros2cli.options import Argument

_DEFAULT_PROFILE = "sensor_data"
_POLICIES = {"history": QoSHistoryPolicy, "reliability": QoSReliabilityPolicy, "durability": QoSDurabilityPolicy}


def qos_arguments(preset: str = _DEFAULT_PROFILE) -> list[Argument]:
    """Return --qos-profile and the options that override single policies of it."""
    return [
        Argument(
            "--qos-profile",
            choices=QoSPresetProfiles.short_keys(),
            default=preset,
            help="Preset profile to begin with (default: %(default)s)",
        ),
        Argument("--qos-depth", metavar="N", type=int, help="Queue size, instead of the profile's"),
        *(
            Argument(f"--qos-{policy}", choices=values.short_keys(), help=f"{policy.capitalize()}, not the profile's")
            for policy, values in _POLICIES.items()
        ),
    ]


def chosen_profile(args: argparse.Namespace, publishers: list[TopicEndpointInfo]) -> tuple[QoSProfile, list[str]]:
    """Return the profile to subscribe with, and what there is to say about it.

    One override on the command line, and the publishers are not looked at.
    """
    # The presets are shared objects, and other code of this process may go by them.
    profile = copy.copy(QoSPresetProfiles.get_from_short_key(args.qos_profile))
    overridden = _override(profile, args)
    if overridden or not publishers:
        return profile, []
    offered = [publisher.qos_profile for publisher in publishers]
    reliable = [offer.reliability == QoSReliabilityPolicy.RELIABLE for offer in offered]
    lasting = [offer.durability == QoSDurabilityPolicy.TRANSIENT_LOCAL for offer in offered]
    profile.reliability = QoSReliabilityPolicy.RELIABLE if all(reliable) else QoSReliabilityPolicy.BEST_EFFORT
    profile.durability = QoSDurabilityPolicy.TRANSIENT_LOCAL if all(lasting) else QoSDurabilityPolicy.VOLATILE
    notices = []
    if any(reliable) and not all(reliable):
        notices.append(_notice("QoSReliabilityPolicy.RELIABLE", "QoSReliabilityPolicy.BEST_EFFORT"))
    if any(lasting) and not all(lasting):
        notices.append(_notice("QoSDurabilityPolicy.TRANSIENT_LOCAL", "QoSDurabilityPolicy.VOLATILE"))
    return profile, notices


def _override(profile: QoSProfile, args: argparse.Namespace) -> bool:
    """Put the options' values into ``profile``; say whether there was any."""
    given = {name: getattr(args, f"qos_{name}") for name in _POLICIES}
    for name, key in given.items():
        if key is not None:
            setattr(profile, name, _POLICIES[name].get_from_short_key(key))
    if args.qos_depth is not None and args.qos_depth > 0:
        profile.depth = args.qos_depth
    elif profile.durability == QoSDurabilityPolicy.TRANSIENT_LOCAL and profile.depth == 0:
        profile.depth = 1
    return any(value is not None for value in (*given.values(), args.qos_depth))


def _notice(offered: str, taken: str) -> str:
    return (
        f"Some, but not all, publishers are offering {offered}. "
        f"Falling back to {taken} as it will connect to all publishers\n"
    )
