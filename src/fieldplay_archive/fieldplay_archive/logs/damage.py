"""What can be said of a sample that is damaged: which list it lacks, and whether the converter may have left it out."""

import re

from fieldplay_archive.logs.sample_time import HEAD

MOST_ITEMS = 1_000_000  # of a list, that pocolog2msgpack writes
LOOKED_AT = 1 << 16  # bytes of a sample
PIXELS, VALUES = ("image", "data"), ("points", "colors", "distances", "remissions")
WHOLE = rb"([\x00-\x7f]|\xcc.|\xcd..|\xce....)"  # a whole number
SIZES = {name: re.compile(name + WHOLE, re.DOTALL) for name in (rb"row_?[sS]ize", rb"(?:height|rows)")}
HOLDS_ANOTHER = "it holds the next one in the place of a value"


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
        if following and (_is_text(following[0]) or data.startswith(data[:HEAD], behind)):
            return True
        place = data.find(packed, behind)
    return False


def _is_text(first: int) -> bool:
    return 0xA0 <= first <= 0xBF or 0xD9 <= first <= 0xDB


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
