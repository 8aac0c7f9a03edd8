"""How topics of a bag were offered, and the channels by which another bag, or a publisher, offers them again."""

from collections.abc import Mapping, Sequence

import yaml
from rosbags.typesys import Stores, TypesysError, get_typestore
from rosbags.typesys.store import Typestore

from fieldplay.bags.bag_topics import IndexedTopic, names_in
from fieldplay.bags.storage import Channel, Qos, channel_of_type
from fieldplay.core.yaml_safe import value_of_yaml
from fieldplay.messages.cdr_layout import Fields, MessageKind, typestore

# Older bags have numbers for words; `unknown` and the default of the system are those of ROS 2
RELIABILITIES = {"best_effort": "best_effort", "2": "best_effort"}
DURABILITIES = {"transient_local": "transient_local", "1": "transient_local"}
HISTORIES = {"keep_all": "keep_all", "2": "keep_all"}
DEPTH = 10
MOST_DEPTH = 10_000
UNUSABLE = (TypesysError, KeyError, ValueError, TypeError, AssertionError)


def qos_of_profiles(offered: object) -> Qos:
    """The QoS that fits all offered profiles, a list or a text in YAML; the defaults where there are none.

    As rosbag2 has it: what one of them did not promise is not promised.
    """
    listed = profile_list(offered)
    profiles = [
        {str(k): str(v).lower() for k, v in profile.items()} for profile in listed if isinstance(profile, Mapping)
    ]
    if not profiles:
        return Qos()
    depths = [int(profile["depth"]) for profile in profiles if profile.get("depth", "").isdecimal()]
    return Qos(
        reliability="best_effort"
        if any(profile.get("reliability") in RELIABILITIES for profile in profiles)
        else "reliable",
        durability=(
            "transient_local" if all(profile.get("durability") in DURABILITIES for profile in profiles) else "volatile"
        ),
        history="keep_all" if any(profile.get("history") in HISTORIES for profile in profiles) else "keep_last",
        depth=min(max(depths, default=0), MOST_DEPTH) or DEPTH,
    )


def profile_list(offered: object) -> list[object]:
    """The offered profiles of a topic's publishers, one by one, from a list or a text in YAML."""
    if isinstance(offered, str):
        try:
            offered = value_of_yaml(offered)
        except yaml.YAMLError:
            return []
    return offered if isinstance(offered, list) else []


def channel_of_indexed(name: str, indexed: IndexedTopic, profiles: object = None) -> Channel:
    """The channel of a topic as its bag has it: its definition as text where that is one of ROS 2, else made anew.

    Without any definition it has none, and no hash, as bags of older distributions. `profiles` is how metadata say
    that it was offered.
    """
    stored, kind = indexed.stored, indexed.kind
    offered = profiles or (stored.profiles if stored else "")
    qos, text, type_hash = qos_of_profiles(offered), "", ""
    if stored is not None:
        text = stored.definition if stored.definition_form == "ros2msg" else ""
        type_hash = stored.type_hash
    if not text or not type_hash:
        channel = _new_channel(name, kind, qos)
        text, type_hash = text or channel.msgdef, type_hash or channel.type_hash
    return Channel(topic=name, msgtype=kind.msgtype, msgdef=text, type_hash=type_hash, qos=qos)


def is_of_jazzy(kind: MessageKind) -> bool:
    """Whether a type, with all types in it, is laid out as ROS 2 Jazzy's of that name."""
    known = typestore().fielddefs
    names = needed_types(kind.msgtype, kind.definitions)
    return kind.msgtype in known and all(
        name in known and kind.definitions[name][1] == known[name][1] for name in names
    )


def undefined_types(kind: MessageKind) -> list[str]:
    """The types that nothing defines among a type and those in it."""
    names = [kind.msgtype, *needed_types(kind.msgtype, kind.definitions)]
    inner = (name for own in names for _, field in kind.definitions.get(own, ((), ()))[1] for name in names_in(field))
    return [name for name in dict.fromkeys([*names, *inner]) if name not in kind.definitions]


def is_same_layout(kind: MessageKind, other: MessageKind) -> bool:
    """Whether two types have the same name and the same fields, those of the types in them included."""
    names = needed_types(kind.msgtype, kind.definitions)
    return kind.msgtype == other.msgtype and all(
        name in other.definitions and kind.definitions[name][1] == other.definitions[name][1] for name in names
    )


def needed_types(msgtype: str, definitions: Fields) -> Sequence[str]:
    """A type and those in it, as far as they are defined."""
    types: dict[str, None] = {}
    waiting = [msgtype]
    while waiting:
        name = waiting.pop()
        if name not in types and name in definitions:
            types[name] = None
            waiting += [inner for _, field in definitions[name][1] for inner in names_in(field)]
    return list(types)


def _new_channel(topic: str, kind: MessageKind, qos: Qos) -> Channel:
    if is_of_jazzy(kind):
        return channel_of_type(topic, kind.msgtype, qos)
    try:
        store = store_of_kind(kind)
        text, _ = store.generate_msgdef(kind.msgtype, ros_version=2)
        return Channel(
            topic=topic, msgtype=kind.msgtype, msgdef=text, type_hash=store.hash_rihs01(kind.msgtype), qos=qos
        )
    except UNUSABLE:
        return Channel(topic=topic, msgtype=kind.msgtype, msgdef="", type_hash="", qos=qos)


def store_of_kind(kind: MessageKind) -> Typestore:
    """The definitions of a type and those in it, alone."""
    store = get_typestore(Stores.EMPTY)
    store.register({name: kind.definitions[name] for name in needed_types(kind.msgtype, kind.definitions)})
    return store
