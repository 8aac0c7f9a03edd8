"""The types of packed bits that are defined, as config/bits says them."""

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml

from fieldplay_archive.logs.bits import LARGEST_LIST, Choice, Field, Fields, Kind, Listed, Real, Text, Truth, Whole
from fieldplay_archive.spec import LOADER, config_folders
from fieldplay_messages.errors import ArchiveError

FILE = Path("bits", "cdff.yaml")
NUMBER, SIZE = r"-?\d+", r"(?P<low>\d+)(?:\.\.(?P<high>\d+))?"
LIMITS = re.compile(rf"int(?: (?P<low>{NUMBER})\.\.(?P<high>{NUMBER})?)?")
LISTED = re.compile(rf"{SIZE} of (?P<inner>.+)")
TEXT = re.compile(rf"(?P<form>text|bytes|ascii) {SIZE}")
CHOICE = "one of "
OPTIONAL = "?"


@dataclass(frozen=True, kw_only=True)
class Form:
    """One form of a type: its fields, where its own time stands (empty: nowhere), and which version must stand where.

    `most_bytes` is how long it can be, which is how long the framework's buffer is; None without a limit.
    """

    fields: Fields
    time: tuple[str, ...]
    version: Mapping[tuple[str, ...], int]
    most_bytes: int | None


def defined_types() -> Mapping[str, tuple[Form, ...]]:
    """The forms of each type that is defined, the newest first; none where the description is not installed."""
    return _installed_types(os.environ.get("AMENT_PREFIX_PATH", ""))


@lru_cache(maxsize=4)
def _installed_types(_: str) -> Mapping[str, tuple[Form, ...]]:
    """Those of the folders where they may be at present; it is asked for each sample while a log is gone through."""
    file = next((folder / FILE for folder in config_folders() if (folder / FILE).is_file()), None)
    return types_of_file(file) if file is not None else {}


def types_of_file(file: Path) -> Mapping[str, tuple[Form, ...]]:
    """The types of a description; ArchiveError tells what is wrong in it."""
    try:
        data = yaml.load(file.read_text("utf-8"), LOADER)
        return types_from_data(data)
    except (OSError, UnicodeDecodeError, yaml.YAMLError, ValueError) as error:
        raise ArchiveError(f"{file}: {error}") from None
    except (KeyError, AttributeError, TypeError):
        raise ArchiveError(f"{file}: expected types, each with a list of its forms, and fields for each form") from None


def types_from_data(data: Mapping[str, Any]) -> Mapping[str, tuple[Form, ...]]:
    """The types of a description that is read already; ValueError tells what is wrong in it."""
    parts: dict[str, Kind] = {}
    for name, notation in data.get("parts", {}).items():
        parts[name] = _kind(notation, parts)
    return {name: tuple(_form(form, parts) for form in forms) for name, forms in data["types"].items()}


def _form(form: Mapping[str, Any], parts: Mapping[str, Kind]) -> Form:
    fields = _kind(form["fields"], parts)
    if not isinstance(fields, Fields):
        raise ValueError(f"expected fields, got '{form['fields']}'")
    version = {tuple(path.split(".")): int(number) for path, number in form.get("version", {}).items()}
    time, most_bits = form.get("time", ""), fields.most_bits
    most_bytes = None if most_bits is None else (most_bits + 7) // 8
    return Form(fields=fields, time=tuple(filter(None, time.split("."))), version=version, most_bytes=most_bytes)


def _kind(notation: Any, parts: Mapping[str, Kind]) -> Kind:
    """What a notation says."""
    if isinstance(notation, Mapping):
        return Fields(tuple(_field(str(name), inner, parts) for name, inner in notation.items()))
    text = str(notation)
    plain: dict[str, Kind] = {"bool": Truth(), "real": Real()}
    found = plain.get(text) or parts.get(text)
    if found is not None:
        return found
    if text.startswith(CHOICE):
        return Choice(tuple(text.removeprefix(CHOICE).split()))
    makers: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], Kind]], ...] = (
        (LIMITS, _whole),
        (TEXT, _text),
        (LISTED, lambda match: Listed(*_size(match), _kind(match["inner"], parts))),
    )
    for pattern, make in makers:
        match = pattern.fullmatch(text)
        if match:
            return make(match)
    raise ValueError(f"expected a kind or the name of a part, got '{text}'")


def _field(name: str, notation: Any, parts: Mapping[str, Kind]) -> Field:
    return Field(name.removesuffix(OPTIONAL), _kind(notation, parts), name.endswith(OPTIONAL))


def _whole(match: re.Match[str]) -> Whole:
    low, high = (None if match[name] is None else int(match[name]) for name in ("low", "high"))
    if low is not None and high is not None and high < low:
        raise ValueError(f"expected limits in order, got '{match[0]}'")
    return Whole(low, high)


def _text(match: re.Match[str]) -> Text:
    return Text(*_size(match), width=7 if match["form"] == "ascii" else 8, is_text=match["form"] != "bytes")


def _size(match: re.Match[str]) -> tuple[int, int]:
    low = int(match["low"])
    high = int(match["high"] or low)
    if not low <= high <= LARGEST_LIST:
        raise ValueError(f"expected a size of {LARGEST_LIST} at most, got '{match[0]}'")
    return low, high
