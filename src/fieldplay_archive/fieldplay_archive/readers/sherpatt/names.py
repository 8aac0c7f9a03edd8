"""What the logs call streams and frames, and what they are called here."""

import re
import unicodedata
from collections.abc import Mapping

CONFIG = "config_"  # CDFF-Dev puts it before the frames of settings
NAMELESS = "stream"
LONGEST = 180  # of a topic: with what is put before and behind it ROS takes some 250
LAST = re.compile(r"[^/.]+$")


def snake_case(name: str) -> str:
    """A name of small letters, digits and underscores: sherpaTT_body is sherpa_tt_body. May be empty."""
    plain = "".join(sign for sign in unicodedata.normalize("NFKD", name) if not unicodedata.combining(sign))
    text = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", plain)
    text = re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_")
    return f"n{text}" if text[:1].isdigit() else text


def frame_name(name: str, known: Mapping[str, str]) -> str:
    """A frame of the logs: by the names that are known, else in snake case."""
    own = name.strip().strip("/").removeprefix(CONFIG)
    return known.get(own, snake_case(own))


def topic_from_stream(name: str) -> str:
    """/task.port is task/port; a name that says nothing in letters and digits is `stream`."""
    parts = (snake_case(part) for part in re.split(r"[/.]", name))
    return "/".join(part for part in parts if part)[:LONGEST].rstrip("/_") or NAMELESS


def stream_id(topic: str) -> str:
    return topic.replace("/", "_")


def task_of(name: str) -> str:
    """What stands before a stream's last part: /task.port is of task, /unit/left/image of unit_left."""
    return snake_case(LAST.sub("", name)) or snake_case(name) or NAMELESS


def camera_topic(name: str) -> str:
    """The topic of the camera's information beside that of its pictures."""
    return LAST.sub("camera_info", name)
