"""Settings in YAML: descriptions of datasets, calibrations, metadata of bags; nothing in them that the text lacks."""

import random
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from campaigns.frame import Found, Inputs, WrongError
from campaigns.mutations import LINES, YAML_PARTS, changed, with_parts
from fieldplay.bags.metadata import INFORMATION, profiles_of_information, topics_of_information
from fieldplay.bags.qos import qos_of_profiles
from fieldplay.core.errors import ArchiveError
from fieldplay.core.yaml_safe import MOST_VALUES, value_of_yaml
from fieldplay.datasets.rosario.calibration import calibration_from_bytes
from fieldplay.datasets.spec import DatasetSpec, build

TEXTS = Path(__file__).with_suffix(".yaml")
FORMS = ("dataset", "calibration", "metadata")
SECTIONS = {"left": "cam0", "right": "cam1", "acc_offset_mg": "imu", "gps_in_base": "gps"}
COMPARED_EVERY = 8  # by the parser that is written in Python, which takes as long as all the rest
SMALL = 10**300  # whole numbers that are compared as others
OWN = (None, "", 0, 0.0, True, False)  # what entries are that the text does not tell of
MODELS = ("plumb_bob", "equidistant", "the calibration file")


class Settings(Inputs):
    """See above; the first line of an input says which form it is."""

    suffix = "yaml"

    def __init__(self) -> None:
        texts = value_of_yaml(TEXTS.read_text("utf-8"))
        self._texts = {form: texts[form].encode() for form in FORMS}
        self._whole = {form: value_of_yaml(_without_head(text)) for form, text in self._texts.items()}
        self._made = {form: _made(form, self._texts[form], self._whole[form], []) for form in FORMS}

    def mutated(self, draw: random.Random) -> bytes:
        form = draw.choice(FORMS)
        text = self._texts[form]
        text = with_parts(draw, text, YAML_PARTS) if draw.random() < 0.3 else changed(draw, text, LINES)
        return f"{form}\n".encode() + text

    def look(self, data: bytes) -> Found:
        head, _, text = data.partition(b"\n")
        form, output = head.decode(), list[str]()
        try:
            value = value_of_yaml(_without_head(text))
        except (yaml.YAMLError, UnicodeDecodeError) as error:
            raise ArchiveError(f"{error}") from None
        if zlib.crc32(data) % COMPARED_EVERY == 0:
            _compare_parsers(_without_head(text), value)
        result = _made(form, text, value, output)
        there = {repr(number) for each in _leaves(value) for number in (each, *_meant(each))}
        values = result.values() if isinstance(result, dict) else result
        strange = [
            each
            for each in _leaves(list(values) if form != "dataset" else values)
            if repr(each) not in there and not _is_own(each, there)
        ]
        if strange and repr(result) != repr(self._made[form]):
            raise WrongError(f"a value that the text does not hold: {form}: {strange}")
        if form == "calibration" and isinstance(value, Mapping):
            for name, section in SECTIONS.items():
                is_same = value.get(section) == self._whole[form][section]
                if is_same and repr(result[name]) != repr(self._made[form][name]):
                    raise WrongError(f"a section that nothing touched is another: {name}: {result[name]}")
        return Found("told" if output else "read", (repr(result), tuple(output)))


def _without_head(text: bytes) -> bytes:
    """A text without the line that OpenCV writes before its YAML."""
    return text.partition(b"\n")[2] if text.startswith(b"%YAML") else text


def _made(form: str, text: bytes, value: Any, output: list[str]) -> Any:
    """What the reader of a form makes of a text, and what it tells of that."""
    if form == "dataset":
        return build(DatasetSpec, value, "a.yaml")
    if form == "calibration":
        return vars(calibration_from_bytes(text, lambda kind, message: output.append(f"{kind}: {message}")))
    information = value.get(INFORMATION) if isinstance(value, Mapping) else None
    information = {str(key): each for key, each in information.items()} if isinstance(information, Mapping) else {}
    profiles = [qos_of_profiles(each) for each in profiles_of_information(information).values()]
    return [*map(astuple, topics_of_information(information)), *map(repr, profiles)]


def _compare_parsers(text: bytes, value: Any) -> None:
    """The parser that is written in Python says the same, or refuses."""
    try:
        meant = yaml.load(text, yaml.SafeLoader)
    except (yaml.YAMLError, ValueError, TypeError, AttributeError, LookupError, RecursionError, UnicodeDecodeError):
        return
    if repr(value) != repr(meant):
        raise WrongError(f"another thing than Python's parser says: {value!r:.300}, {meant!r:.300}")


def _leaves(value: Any) -> Iterator[Any]:
    """Texts and numbers in a value; an alias that holds itself is gone through once."""
    waiting, seen = [value], set[int]()
    while waiting and len(seen) < MOST_VALUES:
        each = waiting.pop()
        if isinstance(each, np.ndarray):
            each = each.tolist()
        inner: Sequence[Any] = ()
        if is_dataclass(each) and not isinstance(each, type):
            inner = [getattr(each, item.name) for item in fields(each)]
        elif isinstance(each, Mapping):
            inner = [*each, *each.values()]
        elif isinstance(each, (list, tuple)):
            inner = each
        else:
            is_small = isinstance(each, int) and not isinstance(each, bool) and abs(each) < SMALL
            yield float(each) if is_small else each
            continue
        if id(each) not in seen:
            seen.add(id(each))
            waiting += inner


def _is_own(value: Any, there: set[str]) -> bool:
    """Whether it is a default, or a text that stands for what is there."""
    if value in OWN:
        return True
    if isinstance(value, str):
        return value in MODELS or value.startswith("Qos(") or any(repr(each) in there for each in _meant(value))
    return False


def _meant(value: Any) -> Iterator[float]:
    """The number that a text stands for, if it does."""
    try:
        yield from [float(value)] if isinstance(value, str) else []
    except ValueError:
        return
