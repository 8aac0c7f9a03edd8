"""What the logs call streams and frames, and what they are called here."""

import re
from collections.abc import Iterable, Mapping

CONFIG = "config_"  # CDFF-Dev puts it before the frames of settings
LAST = re.compile(r"[^/.]+$")


def snake_case(name: str) -> str:
    """A name of small letters, digits and underscores: sherpaTT_body is sherpa_tt_body."""
    text = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)
    text = re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_")
    return f"n{text}" if text[:1].isdigit() else text


def frame_name(name: str, known: Mapping[str, str]) -> str:
    """A frame of the logs: by the names that are known, else in snake case."""
    own = name.strip().strip("/").removeprefix(CONFIG)
    return known.get(own, snake_case(own))


def topic_from_stream(name: str) -> str:
    """/task.port is task/port."""
    parts = (snake_case(part) for part in re.split(r"[/.]", name))
    return "/".join(part for part in parts if part) or "stream"


def stream_id(topic: str) -> str:
    return topic.replace("/", "_")


def own_topic(topic: str, taken: Iterable[str]) -> str:
    """A topic that no other stream has, nor an id that is made of one; `taken` are topics and ids."""
    used, found, number = set(taken), topic, 1
    while found in used or stream_id(found) in {stream_id(other) for other in used}:
        number += 1
        found = f"{topic}_{number}"
    return found


def task_of(name: str) -> str:
    """What stands before a stream's last part: /task.port is of task, /unit/left/image of unit_left."""
    return snake_case(LAST.sub("", name)) or snake_case(name)


def camera_topic(name: str) -> str:
    """The topic of the camera's information beside that of its pictures."""
    return LAST.sub("camera_info", name)
