"""What a bag says about a topic: its type with definition and hash, and how it was offered."""

from dataclasses import dataclass, field
from functools import cache
from typing import Literal

from fieldplay_messages.cdr.layout import typestore
from fieldplay_messages.errors import BagError


@dataclass(frozen=True, kw_only=True)
class Qos:
    """How a publisher offers a topic; what is not named here is the default of ROS 2 (no deadlines, automatic)."""

    reliability: Literal["reliable", "best_effort"] = "reliable"
    durability: Literal["volatile", "transient_local"] = "volatile"
    history: Literal["keep_last", "keep_all"] = "keep_last"
    depth: int = 10


@dataclass(frozen=True, kw_only=True)
class Channel:
    """A topic of a bag. `msgtype` like "sensor_msgs/msg/Imu", `msgdef` as ros2msg with the definitions of all parts."""

    topic: str
    msgtype: str
    msgdef: str
    type_hash: str
    qos: Qos = field(default_factory=Qos)

    def __post_init__(self) -> None:
        if not self.topic.startswith("/"):
            raise BagError(f"a topic of a bag starts with a slash, got {self.topic!r}")


def channel_of_type(topic: str, msgtype: str, qos: Qos | None = None) -> Channel:
    """The channel of a message type of ROS 2 Jazzy."""
    msgdef, type_hash = _definition_and_hash(msgtype)
    return Channel(topic=topic, msgtype=msgtype, msgdef=msgdef, type_hash=type_hash, qos=qos or Qos())


@cache
def _definition_and_hash(msgtype: str) -> tuple[str, str]:
    store = typestore()
    if msgtype not in store.fielddefs:
        raise BagError(f"{msgtype!r} is no message type of ROS 2 Jazzy's common packages")
    return store.generate_msgdef(msgtype, ros_version=2)[0], store.hash_rihs01(msgtype)
