"""How inputs are changed: bytes, numbers among them, and the fields and lines of texts."""

import random
import re
import struct
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import yaml

EXTREMES: dict[str, Any] = yaml.safe_load((Path(__file__).parent / "extremes.yaml").read_text("utf-8"))
TEXTS: list[bytes] = [text.encode() for text in EXTREMES["texts"]]
INTEGERS: list[int] = EXTREMES["integers"]
XML_PARTS, YAML_PARTS = ([text.encode("latin-1") for text in EXTREMES[name]] for name in ("xml_parts", "yaml_parts"))
LENGTHS = (*"BHIQ", ">H", ">I", ">Q")
NUMBER = re.compile(rb"[-+]?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?")
FIELD = re.compile(rb"[^\s,;]+")
LONGEST = 64  # bytes that are put in, taken out or repeated at once
MANY = 4096  # but seldom so many
LARGEST = 1 << 17  # bytes of an input: what is repeated again and again stays small
HOW_OFTEN = (1, 1, 1, 1, 2, 3, 5, 10)  # changes of an input

Draw = random.Random
Change = Callable[[Draw, bytes], bytes]


def _stretch(draw: Draw, data: bytes) -> tuple[int, int]:
    start = draw.randrange(len(data) + 1)
    longest = MANY if draw.random() < 0.1 else LONGEST
    return start, min(len(data), start + 1 + draw.randrange(longest) // draw.choice((1, 1, 8, 32)))


def flipped(draw: Draw, data: bytes) -> bytes:
    """One bit another."""
    if not data:
        return data
    index = draw.randrange(len(data))
    return data[:index] + bytes([data[index] ^ (1 << draw.randrange(8))]) + data[index + 1 :]


def replaced(draw: Draw, data: bytes) -> bytes:
    """A byte another."""
    if not data:
        return data
    index = draw.randrange(len(data))
    byte = draw.choice((0, 0x0A, 0x20, 0x7F, 0x80, 0xFF, draw.randrange(256)))
    return data[:index] + bytes([byte]) + data[index + 1 :]


def cut(draw: Draw, data: bytes) -> bytes:
    """Without its end, or seldom without its beginning."""
    index = draw.randrange(len(data) + 1)
    return data[:index] if draw.random() < 0.8 else data[index:]


def taken_out(draw: Draw, data: bytes) -> bytes:
    """Without some bytes."""
    start, end = _stretch(draw, data)
    return data[:start] + data[end:]


def put_in(draw: Draw, data: bytes) -> bytes:
    """With some bytes more, of any value or all of one."""
    start, end = _stretch(draw, data)
    size = end - start or 1
    more = draw.randbytes(size) if draw.random() < 0.5 else bytes([draw.choice((0, 0x0A, 0x20, 0x2C, 0xFF))]) * size
    return data[:start] + more + data[start:]


def repeated(draw: Draw, data: bytes) -> bytes:
    """With some of its bytes once more, or many times."""
    start, end = _stretch(draw, data)
    return data[:end] + data[start:end] * draw.choice((1, 1, 1, 2, 30)) + data[end:]


def swapped(draw: Draw, data: bytes) -> bytes:
    """With two stretches in each other's place."""
    (first, end), (second, last) = sorted((_stretch(draw, data), _stretch(draw, data)))
    if end > second:
        return data
    return data[:first] + data[second:last] + data[end:second] + data[first:end] + data[last:]


def blanked(draw: Draw, data: bytes) -> bytes:
    """With zeros for some bytes, as a disk has them that lost a block."""
    start, end = _stretch(draw, data)
    return data[:start] + bytes(end - start) + data[end:]


def with_length(draw: Draw, data: bytes) -> bytes:
    """With a number of 1 to 8 bytes that is extreme, as lengths and counts that lie are."""
    form = draw.choice(LENGTHS)
    form = form if form.startswith(">") else f"<{form}"
    number = draw.choice(INTEGERS) + draw.choice((0, 0, -1, 1))
    size = struct.calcsize(form)
    index = draw.randrange(max(len(data) - size, 0) + 1)
    return data[:index] + struct.pack(form, number % (1 << 8 * size)) + data[index + size :]


def with_text(draw: Draw, data: bytes) -> bytes:
    """With a text in the place of a number that is written in digits, if there is one."""
    start = draw.randrange(len(data) + 1)
    match = NUMBER.search(data, start) or NUMBER.search(data)
    if match is None:
        return put_in(draw, data)
    text = draw.choice(TEXTS) if draw.random() < 0.8 else b"9" * draw.choice((19, 40, 400, 5000))
    return data[: match.start()] + text + data[match.end() :]


BYTES: tuple[Change, ...] = (
    flipped, replaced, cut, taken_out, put_in, repeated, swapped, blanked, with_length, with_text,
)  # fmt: skip


def changed(draw: Draw, data: bytes, changes: Sequence[Change] = BYTES) -> bytes:
    """An input that was changed once or several times; never the same as it was."""
    before = data
    while data == before:
        for _ in range(draw.choice(HOW_OFTEN)):
            data = draw.choice(changes)(draw, data)[:LARGEST]
    return data


def line_changed(draw: Draw, line: bytes) -> bytes:
    """A line with its fields changed: another number, none, one more, two in each other's place."""
    fields = [result.span() for result in FIELD.finditer(line)]
    if not fields:
        return line + draw.choice((b" ", b",", b"0", b"#"))
    start, end = draw.choice(fields)
    other = draw.choice(fields)
    field, another = line[start:end], line[slice(*other)]
    return draw.choice(
        (
            line[:start] + draw.choice(TEXTS) + line[end:],
            line[:start] + draw.choice(TEXTS) + line[end:],
            line[:start] + line[end:],
            line[:start] + line[end + 1 :],
            line[:end] + draw.choice((b",", b" ", b";", b"\t", b", ")) + another + line[end:],
            line[:start] + another + line[end:],
            line[:start] + b'"' + field + b'"' * draw.randrange(2) + line[end:],
            line[:start] + b" " * draw.randrange(3) + field + b" \t"[: draw.randrange(3)] + line[end:],
            line[:start] + field[: draw.randrange(len(field) + 1)] + line[end:],
            line[:end],
        )
    )


def lines_changed(draw: Draw, data: bytes) -> bytes:
    """A text of which a line is changed, gone, there twice, elsewhere, or one with the next."""
    lines = data.split(b"\n")
    index, other = draw.randrange(len(lines)), draw.randrange(len(lines))
    how = draw.randrange(10)
    if how < 4:
        lines[index] = line_changed(draw, lines[index])
    elif how == 4:
        del lines[index]
    elif how == 5:
        lines.insert(other, lines[index])
    elif how == 6:
        lines[index], lines[other] = lines[other], lines[index]
    elif how == 7:
        lines[index : index + 2] = [draw.choice((b"", b" ", b",")).join(lines[index : index + 2])]
    elif how == 8:
        lines.insert(
            index, draw.choice((b"", b"#", b"# x,y", b"time,x,y", b"\xef\xbb\xbf", b"\0" * 40, b"%", b"//", b"0"))
        )
    else:
        lines[index] += draw.choice(
            (b"\r", b"\r\r", b"\x0b", b"\x0c", b"\x1c", b"\xc2\x85", b"\xe2\x80\xa8", b" ", b",", b";")
        )
    return b"\n".join(lines)


def with_parts(draw: Draw, data: bytes, parts: Sequence[bytes]) -> bytes:
    """A text with some parts put in, in the place of a few bytes or none."""
    for _ in range(draw.choice((1, 1, 2, 4))):
        index = draw.randrange(len(data) + 1)
        part = draw.choice(parts) * draw.choice((1, 1, 1, 1, 1, 1, 40, 300))
        data = data[:index] + part + data[index + draw.choice((0, 0, 1, 8)) :]
    return data


LINES: tuple[Change, ...] = (*(lines_changed,) * 10, *BYTES)
