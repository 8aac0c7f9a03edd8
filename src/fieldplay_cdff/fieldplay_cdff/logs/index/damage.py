"""What tells that a sample is damaged, which list it lacks, and whether the converter may have left that out."""

import re

from fieldplay_cdff.logs.msgpack_decode.number_lists import is_map, is_text

MOST_ITEMS = 1_000_000  # of a list, that pocolog2msgpack writes
LOOKED_AT = 1 << 16  # bytes of a sample
PIXELS, VALUES = ("image", "data"), ("points", "colors", "distances", "remissions")
WHOLE = rb"([\x00-\x7f]|\xcc.|\xcd..|\xce....)"  # a whole number
SIZES = {name: re.compile(name + WHOLE, re.DOTALL) for name in (rb"row_?[sS]ize", rb"(?:height|rows)")}
ALIKE = 5  # first bytes of a sample, in all but the first of which others are alike
LONGEST_NAME = 255  # bytes of a stream's
HEAD = 20  # bytes with which a sample begins, its first name among them
NO_NAME = "expected the name of a field, got "
HOLDS_ANOTHER = "it holds the next one in the place of a value"


def odd_name(key: object) -> str:
    """What a name is that is no text, else nothing; ValueError for a list or map, as then surely a value is missing."""
    if isinstance(key, list | dict):
        raise ValueError(f"{NO_NAME}{type(key).__name__}")
    return "" if isinstance(key, str) else type(key).__name__


def may_be_shifted(value: bytes, sample: bytes, *, is_last: bool) -> bool:
    """Whether a name stands in the place of a value, as everywhere behind a missing one; by their first ALIKE bytes.

    In the place of a map's last value is what follows the map then: a name too, or the next sample.
    """
    first = value[0] if value else 0
    is_next_sample = is_last and is_map(first) and value[1:] == sample[1:]
    return is_text(first) or is_next_sample


def ends_with_name(data: bytes) -> bool:
    """Whether the last item of a sample, by its last bytes, is a text as streams are called.

    Only then can it have taken the name of what follows it for the value that it lacks.
    """
    for size in range(1, min(len(data), LONGEST_NAME)):
        heads = (bytes((0xA0 | size,)) if size < 32 else b"\xd9" + bytes((size,)), b"\xda" + size.to_bytes(2, "big"))
        if data[:-size].endswith(heads) and any(sign in data[-size:] for sign in (b".", b"/")):
            return True
    return False


def holds_another(data: bytes) -> bool:
    """Whether another sample begins within one, as where a list was left out and what follows it took its place."""
    head = data[:HEAD]
    return len(head) == HEAD and is_map(head[0]) and data.find(head, 1) >= 0


def perhaps_left_out(data: bytes) -> str:
    """What to add to a fault of a sample if a list of too many items may be missing in it; else nothing.

    Only pictures of so many bytes and clouds of points have such lists; the name stands there without its value.
    """
    head = data[:LOOKED_AT]
    lacking = next((name for name in (*PIXELS, *VALUES) if _lacks(head, name)), None)
    if lacking is None or (lacking in PIXELS and not _is_large(_own(head))):
        return ""
    return f"; perhaps {lacking} had more than {MOST_ITEMS:,} items, as pocolog2msgpack leaves such lists out"


def _lacks(data: bytes, name: str) -> bool:
    """Whether a field's name stands there without a list or bytes behind it: a text follows, or the next sample."""
    packed = bytes((0xA0 | len(name),)) + name.encode()
    place = data.find(packed)
    while place >= 0:
        behind = place + len(packed)
        following = data[behind : behind + 1]
        if following and (is_text(following[0]) or data.startswith(data[:HEAD], behind)):
            return True
        place = data.find(packed, behind)
    return False


def _own(data: bytes) -> bytes:
    """A sample's bytes without those of the next one."""
    end = data.find(data[:HEAD], 1)
    return data if end < 0 else data[:end]


def _is_large(data: bytes) -> bool:
    """Whether a picture has more bytes than the converter writes, as its size says; True if that is not there."""
    found = [pattern.search(data) for pattern in SIZES.values()]
    sizes = [_whole(match[1]) for match in found if match is not None]
    return len(sizes) < len(found) or sizes[0] * sizes[1] > MOST_ITEMS


def _whole(packed: bytes) -> int:
    return int.from_bytes(packed[1:] or packed, "big")
