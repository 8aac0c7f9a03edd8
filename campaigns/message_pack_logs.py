"""Logs of MessagePack, plain, flattened and packed: samples before a fault arrive, and each is what its bytes say."""

import math
import random
import zlib
from collections.abc import Hashable, Iterator
from typing import Any, NamedTuple

import msgpack

from campaigns.frame import Found, Inputs, WrongError
from campaigns.memory_files import MemoryFiles
from campaigns.mutations import BYTES, EXTREMES, INTEGERS, LARGEST, changed
from fieldplay.core.errors import ArchiveError, Defect
from fieldplay_cdff.logs.log import Log
from fieldplay_cdff.logs.log_streams import LogStream

COUNT, START_US, STEP_US, LATE_US = 6, 1_543_311_000_000_000, 100_000, 250
STATES, NUMBERS, SCANS = "/mcs.state_out", "/mcs.distance", "/laser.scans"
HEADS: list[bytes] = [bytes.fromhex(text) for text in EXTREMES["message_pack_heads"]]
VALUES: tuple[Any, ...] = (
    None, True, math.nan, math.inf, -0.0, "", "x" * 40, "\ud800", b"\xff" * 5, [], {}, [[[]]], {"a": {"b": []}}, {1: 2},
    [None] * 70, "timestamps", STATES, f"{STATES}.meta", *INTEGERS,
)  # fmt: skip


def _packed(value: Any) -> bytes:
    return bytes(msgpack.packb(value, use_bin_type=False, unicode_errors="surrogatepass"))


def _state(row: int) -> dict[str, Any]:
    return {
        "time": {"microseconds": START_US + row * STEP_US},
        "sourceFrame": "body",
        "targetFrame": "odometry",
        "position": {"data": [0.1 * row, 0.5, -0.25]},
        "orientation": {"im": [0.0, 0.0, 0.6], "re": 0.8},
        "velocity": {"data": [1.0, math.nan, row]},
    }


def _scan(row: int) -> dict[str, Any]:
    ranges = [1000 + row + index for index in range(20)]
    return {"time": {"microseconds": START_US + row * STEP_US}, "start_angle": -1.5, "ranges": ranges, "remission": []}


def plain_log() -> dict[str, Any]:
    """Streams with their metadata."""
    results: dict[str, Any] = {}
    streams = {
        STATES: ("/base/samples/RigidBodyState_m", [_state(row) for row in range(COUNT)]),
        NUMBERS: ("double", [0.5 * row for row in range(COUNT)]),
        SCANS: ("/base/samples/LaserScan", [_scan(row) for row in range(COUNT)]),
    }
    for name, (kind, samples) in streams.items():
        times = [START_US + row * STEP_US + LATE_US for row in range(COUNT)]
        results |= {name: samples, f"{name}.meta": {"timestamps": times, "type": kind}}
    return results


def _flattened() -> dict[str, Any]:
    rows = [_state(row) for row in range(COUNT)]
    columns = {
        f"{STATES}/{outer}/{inner}": [row[outer][inner] for row in rows]
        for outer, inner in (("time", "microseconds"), ("position", "data"), ("orientation", "re"))
    }
    times = [START_US + row * STEP_US + LATE_US for row in range(COUNT)]
    return {**columns, f"{STATES}.meta/timestamps": times, f"{STATES}.meta/type": "RigidBodyState"}


class Base(NamedTuple):
    """A log before it was changed: its bytes, and where its items begin."""

    data: bytes
    places: tuple[int, ...]


def _base(log: dict[str, Any]) -> Base:
    data = _packed(log)
    return Base(data, tuple(_places(data)))


def _places(data: bytes) -> Iterator[int]:
    """Where items begin, those in others too."""
    unpacker: Any = msgpack.Unpacker(raw=False)
    unpacker.feed(data)
    while (position := unpacker.tell()) < len(data):
        yield position
        first = data[position]
        if first in (0xDE, 0xDF) or 0x80 <= first < 0x90:
            unpacker.read_map_header()
        elif first in (0xDC, 0xDD) or 0x90 <= first < 0xA0:
            unpacker.read_array_header()
        else:
            unpacker.skip()


class MessagePackLogs(Inputs):
    """See above."""

    suffix = "msg"

    def __init__(self) -> None:
        self._bases = [_base(plain_log()), _base(_flattened())]

    def mutated(self, draw: random.Random) -> bytes:
        base = draw.choice(self._bases)
        data = base.data
        how = draw.randrange(4)
        if how == 0:
            data = changed(draw, data)
        else:
            for _ in range(draw.choice((1, 1, 1, 2, 3))):
                data = self._item_changed(draw, data, base.places)
        if draw.random() < 0.7:
            return data[:LARGEST]
        packed = zlib.compress(data[:LARGEST])
        return changed(draw, packed, BYTES) if draw.random() < 0.5 else packed

    def _item_changed(self, draw: random.Random, data: bytes, positions: tuple[int, ...]) -> bytes:
        index = draw.randrange(len(positions) - 1)
        start, end = positions[index], positions[index + 1]
        how = draw.randrange(5)
        if how == 0:
            return data[:start] + draw.choice(HEADS) + data[end:]
        if how == 1:
            return data[:start] + _packed(draw.choice(VALUES)) + data[end:]
        if how == 2:
            return data[:start] + data[end:]
        if how == 3:
            return data[:start] + _packed(draw.choice(VALUES)) + data[start:]
        head = min(data[start] + draw.choice((-1, 1, 3)), 0xFF) if start < len(data) else 0
        return data[:start] + bytes([max(head, 0)]) + data[start + 1 :]

    def look(self, data: bytes) -> Found:
        is_packed = data[:1] == b"x"
        name = "a.msg.zz" if is_packed else "a.msg"
        plain = _inflated(data) if is_packed else data
        defects: list[Defect] = []
        with Log(MemoryFiles({name: data}), [name], defects.append) as log:
            streams = {stream.name: _told(stream) for stream in log.streams.values()}
            self._compare_places(log, plain)
        self._compare_begin(plain, streams)
        _compare_whole(plain, streams, defects)
        return Found("told" if defects else "read" if streams else "refused", _comparable(streams, defects))

    def _compare_places(self, log: Log, plain: bytes) -> None:
        """Each sample is what MessagePack makes of its own bytes."""
        for stream in log.streams.values():
            for extent in stream.extents(0, len(stream)):
                if extent.where is None:
                    continue
                start, end = extent.where
                unpacker = msgpack.Unpacker(raw=False, unicode_errors="replace", strict_map_key=False)
                unpacker.feed(plain[start:end])
                for row in range(extent.start, extent.end):
                    sample = _sample(stream, row)
                    if isinstance(sample, ArchiveError):
                        unpacker.skip()
                    elif _packed(sample) != _packed(meant := unpacker.unpack()):
                        raise WrongError(f"a sample is not what its bytes say: {stream.name} {row}: {sample}, {meant}")

    def _compare_begin(self, plain: bytes, streams: "dict[str, list[Any]]") -> None:
        """Samples that lie before the first changed byte all arrive."""
        base = max(self._bases, key=lambda base: _common(base.data, plain))
        upto = _common(base.data, plain)
        for name, samples in _samples_until(base.data, upto).items():
            arrived = streams.get(name, [])[: len(samples)]
            if _packed(samples) != _packed([None if isinstance(one, ArchiveError) else one for one in arrived]):
                raise WrongError(
                    f"samples before the first fault are missing: {name}, {len(samples)} before byte {upto}"
                )


def _told(stream: LogStream) -> list[Any]:
    """All samples, one that cannot be read as its error; and that all ways to ask for them agree."""
    sample = [_sample(stream, row) for row in range(len(stream))]
    for times in (stream.own_ns(), stream.logged_ns()):
        if len(times) != len(stream):
            raise WrongError(f"not as many times as samples: {stream.name}: {len(times)}, {len(stream)}")
    stream.first_ns()
    if len(stream):
        stream.alike(0, len(stream))
        stream.columns(0, len(stream))
    return sample


def _sample(stream: LogStream, row: int) -> Any:
    try:
        return stream.sample(row)
    except ArchiveError as error:
        return error


def _comparable(streams: "dict[str, list[Any]]", defects: list[Defect]) -> Hashable:
    return repr(streams), tuple(map(str, defects))


def _inflated(data: bytes) -> bytes:
    """As far as zlib can, byte by byte."""
    inflating, actual = zlib.decompressobj(), bytearray()
    try:
        for index in range(len(data)):
            actual += inflating.decompress(data[index : index + 1])
    except zlib.error:
        pass
    return bytes(actual)


def _common(one: bytes, other: bytes) -> int:
    """How many bytes are the same at the beginning."""
    most = min(len(one), len(other))
    return next((index for index in range(most) if one[index] != other[index]), most)


def _samples_until(data: bytes, upto: int) -> "dict[str, list[Any]]":
    """Of a plain log what lies as a whole before a byte."""
    unpacker: Any = msgpack.Unpacker(raw=False)
    unpacker.feed(data)
    results: dict[str, list[Any]] = {}
    for _ in range(unpacker.read_map_header()):
        name = unpacker.unpack()
        if "/" in name[1:] or name.endswith(".meta"):
            unpacker.skip()
            continue
        for _ in range(unpacker.read_array_header()):
            sample = unpacker.unpack()
            if unpacker.tell() <= upto:
                results.setdefault(name, []).append(sample)
    return results


def _compare_whole(plain: bytes, streams: "dict[str, list[Any]]", defects: list[Defect]) -> None:
    """Where the log is whole after all, all its lists of samples arrive as they are."""
    try:
        whole = msgpack.unpackb(
            plain, raw=False, unicode_errors="replace", strict_map_key=False, object_pairs_hook=list
        )
    except (ValueError, TypeError, msgpack.exceptions.UnpackException):
        return
    if not isinstance(whole, list) or any(not isinstance(pair, tuple) for pair in whole) or defects:
        return
    names = [name for name, _ in whole]
    for name, values in whole:
        is_stream = isinstance(name, str) and name in streams and isinstance(values, list) and names.count(name) == 1
        if is_stream and not name.endswith(".meta") and len(values) != len(streams[name]):
            raise WrongError(
                f"a list of a whole log has not all its samples: {name}: {len(values)}, {len(streams[name])}"
            )
