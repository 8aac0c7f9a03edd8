"""Reasons why a pair of images has no result: a closed list, each with the parameter that would help.

A refusal names the parameter as `Group.Name` of the step that refused, and the value with which that pair would have
been accepted, where there is such a value. A run counts refusals by their reason.
"""

from dataclasses import dataclass, replace
from enum import Enum


class Reason(str, Enum):
    """The closed list."""

    DARK = "dark"
    DAMAGED = "damaged"
    UNPAIRED = "unpaired"
    SWAPPED = "left and right swapped"
    UNRECTIFIED = "not rectified"
    STEP_FAILED = "a step failed"
    FEW_CORNERS = "too few corners"
    FEW_DISPARITIES = "too few disparities"
    DISPARITY_RANGE = "disparities out of range"
    TOO_FAR = "nothing within the limits of distance"
    FEW_MATCHES = "too few matches"
    FEW_INLIERS = "too few matches agree"
    AMBIGUOUS = "motion not determined"
    BEYOND_SHIFT = "motion beyond MaximumShift"
    BEYOND_TURN = "rotation beyond MaximumTurn"
    LOW_QUALITY = "quality below MinimumQuality"
    NOT_IN_MAP = "not found in the map"
    AMBIGUOUS_SURFACE = "surfaces do not determine the pose"
    NOT_FOUND = "model not found"
    AMBIGUOUS_MODEL = "model fits in several orientations"
    NOT_REGISTERED = "clouds do not fit"
    NO_RESULT = "no result"

    def __str__(self) -> str:
        return str(self.value)


FEWEST_MATCHES = 6


@dataclass(frozen=True, kw_only=True)
class Refusal:
    """The reason why a pair was refused.

    Args:
        reason: of the closed list.
        parameter: `Group.Name` of a parameter of the step that would help; "" where none does.
        value: of that parameter, with which this pair would have been accepted.
        detail: a sentence with the numbers of this pair; "" if the reason is sufficient.
        is_final: whether no result of this pair is right, whatever other steps make of it.
    """

    reason: Reason
    parameter: str = ""
    value: float | None = None
    detail: str = ""
    is_final: bool = False


def few_matches(count: int, parameter: str) -> Refusal:
    """A refusal for too few matches; with less than 6 no value of the parameter would give a reliable pose."""
    if count < FEWEST_MATCHES:
        return Refusal(reason=Reason.FEW_MATCHES)
    return Refusal(reason=Reason.FEW_MATCHES, parameter=parameter, value=count)


def refusal_of_group(refusal: Refusal | None, group: str) -> Refusal | None:
    """A refusal, the name of its parameter with that of the group."""
    if refusal is None or not refusal.parameter:
        return refusal
    return replace(refusal, parameter=f"{group}.{refusal.parameter}")
