"""Samples as plain data for JSON: what JSON has no number for becomes a text, bytes become hexadecimal digits."""

import json
import math
import re
from typing import Any

ENCODER = json.JSONEncoder(ensure_ascii=False)
STRANGE = re.compile("NaN|-?Infinity")  # which JSON itself has not


def plain_of(value: Any) -> Any:
    """The value with "NaN", "Infinity" and "-Infinity" in the place of such numbers, as protobuf's JSON has them."""
    if isinstance(value, float):
        return (
            value if math.isfinite(value) else "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
        )
    if isinstance(value, dict):
        return {str(key): plain_of(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain_of(inner) for inner in value]
    return value.hex() if isinstance(value, bytes) else value if isinstance(value, int | str | None) else str(value)


def json_of(value: Any) -> str:
    """The value as a line of JSON."""
    try:
        text = ENCODER.encode(value)
    except TypeError:
        return ENCODER.encode(plain_of(value))
    if "N" not in text and "I" not in text:
        return text
    if '"' in text:  # a text may have these words too
        return ENCODER.encode(plain_of(value))
    return STRANGE.sub(r'"\g<0>"', text)
