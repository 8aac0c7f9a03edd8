"""Bags, as MCAP plain and packed, sqlite3 and ROS 1: in order and at random the same, and nothing that was not in."""

import atexit
import random
import shutil
import struct
import tempfile
from collections import Counter
from pathlib import Path
from typing import Literal

import numpy as np
from rosbags.rosbag1 import Writer as Ros1Writer
from rosbags.typesys import Stores, get_typestore

from campaigns.frame import Found, Inputs, WrongError
from campaigns.mutations import BYTES, changed
from fieldplay.bags.open_bag import open_bag
from fieldplay.bags.storage import channel_of_type
from fieldplay.bags.writer import BagWriter
from fieldplay.core.errors import Defect
from fieldplay.streams.message_block import MessageBlock, merge_messages, messages_of_channel

START_NS, COUNT, STEP_NS = 1_700_000_000_000_000_000, 24, 10**7
FLOAT, TOPICS = "std_msgs/msg/Float64", ("/a", "/b")
CHUNK, CHUNK_HEAD = 6, struct.Struct("<BQ")
MAGIC = 8
ENDINGS = {"mcap": "mcap", "packed": "mcap", "sqlite3": "db3", "ros1": "bag"}
Form = Literal["mcap", "packed", "sqlite3", "ros1"]


def _value(topic: int, row: int) -> float:
    return 0.1 + row * 17.3 + topic * 1000.7


def _written(form: Form, folder: Path) -> bytes:
    """A bag of two topics; the bytes of its file."""
    if form == "ros1":
        store = get_typestore(Stores.ROS1_NOETIC)
        with Ros1Writer(folder / "a.bag") as ros1:
            ros1.chunk_threshold = 200
            for topic, name in enumerate(TOPICS):
                connection = ros1.add_connection(name, FLOAT, typestore=store)
                for row in range(COUNT):
                    ros1.write(connection, START_NS + row * STEP_NS, struct.pack("<d", _value(topic, row)))
        return (folder / "a.bag").read_bytes()
    storage: Literal["mcap", "sqlite3"] = "sqlite3" if form == "sqlite3" else "mcap"
    packing: Literal["zstd", "none"] = "zstd" if form == "packed" else "none"
    with BagWriter(folder / "bag", storage=storage, compression=packing, chunk_size=300) as writer:
        parts = []
        for topic, name in enumerate(TOPICS):
            number = writer.add_channel(channel_of_type(name, FLOAT))
            data = [struct.pack("<4sd", b"\0\1\0\0", _value(topic, row)) for row in range(COUNT)]
            parts.append(
                messages_of_channel(number, START_NS + np.arange(COUNT) * STEP_NS, MessageBlock.of_messages(data))
            )
        writer.write(merge_messages(parts))
    (file,) = (path for path in (folder / "bag").iterdir() if path.suffix != ".yaml")
    return file.read_bytes()


class Bags(Inputs):
    """See above; the first bytes of a file say of which form it is."""

    suffix = "bagfile"
    slow_s = 2.0

    def __init__(self) -> None:
        memory = Path("/dev/shm")
        self._folder = Path(tempfile.mkdtemp(prefix="campaign-", dir=memory if memory.is_dir() else None))
        atexit.register(shutil.rmtree, self._folder, ignore_errors=True)
        self._files: dict[str, bytes] = {}
        for form in ("mcap", "packed", "sqlite3", "ros1"):
            folder = self._folder / form
            folder.mkdir()
            self._files[form] = _written(form, folder)
        self._values = {struct.pack("<d", _value(topic, row)) for topic in range(2) for row in range(COUNT)}

    def mutated(self, draw: random.Random) -> bytes:
        form = draw.choice(list(self._files))
        return f"{form}\n".encode() + changed(draw, self._files[form], BYTES)

    def look(self, data: bytes) -> Found:
        head, _, content = data.partition(b"\n")
        form = head.decode()
        path = self._folder / f"x.{ENDINGS[form]}"
        path.write_bytes(content)
        defects: list[Defect] = []
        with_order: Counter[tuple[str, int, bytes]] = Counter()
        bag = open_bag(path, defects.append)
        for batch in bag.batches(lambda fraction, count: None):
            with_order.update((batch.topic.name, stamp, each.tobytes()) for stamp, each in batch.messages())
        bag.close()
        strange = [each for _, _, each in with_order if each[-8:] not in self._values and each[-8:] not in content]
        if strange and len(strange[0]) >= 8:
            raise WrongError(f"a message that the bag does not hold: {strange[0].hex()}")
        if form == "mcap":
            self._compare_begin(content, {each[-8:] for _, _, each in with_order})
        random_ones = self._at_random(path)
        known = {each for _, _, each in with_order}
        more = [each for _, _, each in random_ones if each not in known and each[-8:] not in self._values]
        if more:  # times and topics stand in indexes too, which have no checksum
            raise WrongError(f"at random there is a message that is not there in order: {more[0].hex()}")
        return Found("told" if defects else "read", (tuple(sorted(with_order.items())), tuple(map(str, defects))))

    def _at_random(self, path: Path) -> "Counter[tuple[str, int, bytes]]":
        bag = open_bag(path, lambda defect: None)
        counts: Counter[tuple[str, int, bytes]] = Counter()
        for name in bag.kinds:
            topic = bag.topic(name, 5)
            for index in reversed(range(len(topic.spans))):
                pairs = zip(topic.stamps(index).tolist(), topic.messages(index), strict=True)
                counts.update((name, stamp, bytes(each)) for stamp, each in pairs if each is not None)
        bag.close()
        return counts

    def _compare_begin(self, content: bytes, arrived: set[bytes]) -> None:
        """The messages of chunks that lie before the first changed byte all arrive."""
        whole, position = self._files["mcap"], MAGIC
        upto = next((at for at, (a, b) in enumerate(zip(whole, content, strict=False)) if a != b), len(content))
        while position + CHUNK_HEAD.size <= min(upto, len(whole)):
            kind, length = CHUNK_HEAD.unpack_from(whole, position)
            end = position + CHUNK_HEAD.size + length
            if kind == CHUNK and end <= upto:
                missing = [value for value in self._values if value in whole[position:end] and value not in arrived]
                if missing:
                    raise WrongError(f"messages before the first fault are missing: {missing[0].hex()} before {upto}")
            position = end
