"""Marks where an axis passes over a gap: a torn strip across the drawing, and how long the gap is."""

from collections.abc import Callable, Sequence

from fieldplay.report.html.markup import Html, element, joined
from fieldplay.report.html.ticks import Axis, Break

ROOM = 0.8  # of a label, by the most labels that are wanted
MOST_TORN = 24  # more strips with edges would hide what is between them

Strip = Callable[[Break], str]


def break_marks(axis: Axis, *, units: int, height: int, most: int = 4) -> Html:
    """Strips from the top to the bottom of a drawing that is so wide and high; of many, only the told ones are torn."""

    def strip(each: Break) -> str:
        return f"M{units * each.shares[0]:.1f} 0V{height}H{units * each.shares[1]:.1f}V0Z"

    return _marks(axis, strip, most=most)


def break_marks_across(axis: Axis, *, units: int, most: int = 4) -> Html:
    """Strips from the left to the right, of an axis that runs upwards."""

    def strip(each: Break) -> str:
        return f"M0 {units * (1 - each.shares[0]):.1f}H{units}V{units * (1 - each.shares[1]):.1f}H0Z"

    return _marks(axis, strip, most=most)


def _marks(axis: Axis, strip: Strip, *, most: int) -> Html:
    torn = axis.breaks if len(axis.breaks) <= MOST_TORN else _with_room(axis.breaks, ROOM / most)
    plain = [] if torn is axis.breaks else [each for each in axis.breaks if each not in torn]
    kinds = (("break plain", plain), ("break", torn))
    paths = (element("path", d=Html("".join(map(strip, some))), class_=kind) for kind, some in kinds if some)
    return joined(paths)


def break_labels(axis: Axis, *, most: int = 4, is_upright: bool = True) -> Html:
    """The lengths of the gaps at their marks; where there are many, of the longest."""
    side = "left" if is_upright else "bottom"
    spans = (
        element("span", each.label, style=f"{side}:{100 * _middle(each):.2f}%", title=f"nothing for {each.label}")
        for each in _with_room(axis.breaks, ROOM / most)
    )
    return element("div", *spans, class_="breaks" if is_upright else "breaks across") if axis.breaks else joined([])


def _with_room(breaks: Sequence[Break], room: float) -> list[Break]:
    kept: list[Break] = []
    for each in sorted(breaks, key=lambda one: one.begin - one.end):
        if all(abs(_middle(each) - _middle(other)) >= room for other in kept):
            kept.append(each)
    return sorted(kept, key=lambda one: one.begin)


def _middle(each: Break) -> float:
    return (each.shares[0] + each.shares[1]) / 2
