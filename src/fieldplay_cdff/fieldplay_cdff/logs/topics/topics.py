"""What the names of a log are here: of frames, and of streams the topics that they play on.

A topic is the stream's plain name, unless another one has that already.
"""

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from fieldplay.datasets.spec import DatasetSpec
from fieldplay.messages.stream_spec import StreamSpec
from fieldplay_cdff.logs.types.table import IMAGE

MODEL = "robot_description"
CONFIG = "config_"  # CDFF-Dev puts it before the frames of settings
NAMELESS = "stream"
LONGEST = 180  # of a topic: with what is put before and behind it ROS takes some 250
LAST = re.compile(r"[^/.]+$")


class StreamTopics:
    """Topics and ids that are given away, by whom they are; those of the dataset's description from the begin.

    What goes out beside pictures counts too: the packed ones, and the information of their camera.
    """

    def __init__(self, spec: DatasetSpec, note: Callable[[str], None]) -> None:
        self._note = note
        self._known = {stream.id for stream in spec.streams}
        self._ids = set(self._known)
        self._owners = {MODEL: "the robot's model"}
        self._owners |= {own.topic: f"the node {own.name}" for own in spec.derived}
        for stream in spec.streams:
            owner = next(iter(spec.constants["sources"].get(stream.id, ())), f"the dataset's {stream.id}")
            infos = [info_topic(stream.topic)] if stream.camera else []
            self._owners |= dict.fromkeys([*_topics_of(stream.topic, stream.type), *infos], owner)

    def own(self, wanted: str, message_type: str) -> tuple[str, str]:
        """An id and a topic that no other stream has; two topics may differ though their ids would not."""
        topic = next(each for each in _numbered(wanted) if not self._taken_by(each, message_type))
        return next(each for each in _numbered(stream_id(topic)) if each not in self._ids), topic

    def take(self, spec: StreamSpec, name: str, side: str = "") -> None:
        """Give away what a stream of this name plays on, and say where that is not its plain name's."""
        if spec.id in self._known:
            return
        wanted = plain_topic(name, side)
        if spec.topic != wanted:
            self._tell(name, spec.topic, wanted, self._taken_by(wanted, spec.type))
        self._ids.add(spec.id)
        self._owners |= dict.fromkeys(_topics_of(spec.topic, spec.type), name)

    def with_own_info(self, spec: StreamSpec, name: str) -> StreamSpec:
        """Pictures in a folder of their own where the information of another camera has the place beside them."""
        if spec.id in self._known:
            return spec
        beside = info_topic(spec.topic)
        if beside in self._owners:
            folders = _numbered(spec.topic)
            topics = (f"{folder}/image_raw" for folder in folders if info_topic(f"{folder}/x") not in self._owners)
            topic = next(each for each in topics if not self._taken_by(each, spec.type))
            self._tell(name, topic, beside, self._owners[beside])
            spec = replace(spec, topic=topic)
        self._owners |= dict.fromkeys([*_topics_of(spec.topic, spec.type), info_topic(spec.topic)], name)
        return spec

    def _taken_by(self, topic: str, message_type: str) -> str:
        """Whose it is, or one of those that go with it; "" where all are free."""
        return next((self._owners[each] for each in _topics_of(topic, message_type) if each in self._owners), "")

    def _tell(self, name: str, topic: str, wanted: str, owner: str) -> None:
        self._note(f"{name or 'the stream without a name'} plays on {topic}, as {wanted} is of {owner}")


def plain_topic(name: str, side: str = "") -> str:
    """The topic of a log's stream by its name; of a pair of pictures, that of one side."""
    topic = topic_from_stream(name)
    return f"{topic}/{side}/image_raw" if side else topic


def info_topic(topic: str) -> str:
    """Where the information of a camera goes out."""
    folder = topic.rpartition("/")[0]
    return f"{folder}/camera_info" if folder else "camera_info"


def _topics_of(topic: str, message_type: str) -> list[str]:
    return [topic, f"{topic}/compressed"] if message_type == IMAGE else [topic]


def _numbered(text: str) -> Iterator[str]:
    """The text, then with 2, 3 and so on behind it."""
    number = 1
    while True:
        yield text if number == 1 else f"{text}_{number}"
        number += 1


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
