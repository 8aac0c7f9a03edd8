"""Levenberg and Marquardt's way to the least cost, whatever it is that costs."""

from typing import NamedTuple, Protocol, TypeVar

Own = TypeVar("Own", bound="Costly")


class Costly(Protocol):
    """What costs something as it is, and less after a good step."""

    cost: float

    def stepped(self: Own, damping: float) -> Own:
        """The same one step further; the more damping, the shorter the step."""
        ...


class Dampings(NamedTuple):
    """The damping at first, the least and the most of it."""

    first: float
    least: float
    most: float


def minimise_residuals(system: Own, *, steps: int, dampings: Dampings, solved: float) -> Own:
    """The system after so many steps at most, fewer where its cost falls by no more than a share at the end."""
    damping = dampings.first
    for _ in range(steps):
        tried = system.stepped(damping)
        if tried.cost < system.cost:
            is_done = system.cost - tried.cost < solved * system.cost
            system, damping = tried, max(damping / 10, dampings.least)
            if is_done:
                break
        elif damping >= dampings.most or system.cost == 0:
            break
        else:
            damping *= 10
    return system
