"""What a regular expression of a file's name looks like as a name: for messages, never to look for files."""

import re

OPTIONAL = re.compile(r"\([^()]*\)\?|(?<!\\)[^)\\*+?]\?")
ONE_OF = re.compile(r"\(([^()|]*)(?:\|[^()]*)?\)")
ANYTHING = re.compile(r"(?:\.|\\[dwDWS])[*+]")


def name_from_patterns(files: str, folder: str = "") -> str:
    """The first name that patterns stand for, `*` for any signs: `imu*.log` for the logs or texts of an IMU."""
    name = _name_from_pattern(files)
    return f"{_name_from_pattern(folder)}/{name}" if folder else name


def _name_from_pattern(pattern: str) -> str:
    text = ANYTHING.sub("*", pattern)
    while (shorter := ONE_OF.sub(r"\1", OPTIONAL.sub("", text))) != text:
        text = shorter
    return re.sub(r"\\(.)", r"\1", text.partition("|")[0])
