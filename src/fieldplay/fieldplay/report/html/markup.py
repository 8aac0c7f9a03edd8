"""Markup that cannot be broken by what files hold: every text is escaped unless it is markup already."""

import html
import re
from collections.abc import Iterable

MOST_CHARACTERS = 1000
UNPRINTABLE = re.compile(r"[^\t\n\x20-\x7e\xa0-\ud7ff\ue000-\U0010ffff]")


class Html(str):
    """Text that is markup."""

    __slots__ = ()


def text(value: object) -> Html:
    """A text as it is shown; what is very long is cut."""
    if isinstance(value, Html):
        return value
    shown = str(value)
    return _escaped(shown if len(shown) <= MOST_CHARACTERS else shown[:MOST_CHARACTERS] + "…")


def path_text(name: str) -> Html:
    """A topic's name, or another with slashes, that may break after each of them."""
    return Html(text(name[:1]) + text(name[1:]).replace("/", "/<wbr>"))


def _escaped(value: object) -> Html:
    """A text in which nothing is markup; what no page can hold becomes a replacement character."""
    return Html(html.escape(UNPRINTABLE.sub("\ufffd", str(value))))


def element(tag: str, /, *children: object, **attributes: object) -> Html:
    """An element with its children; `class_` is class, `aria_label` aria-label, and None leaves an attribute out."""
    told = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{value if isinstance(value, Html) else _escaped(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    return Html(f"<{tag}{told}>{joined(children)}</{tag}>")


def void(tag: str, /, **attributes: object) -> Html:
    """An element without an end, as img and meta."""
    return Html(element(tag, **attributes).removesuffix(f"</{tag}>"))


def joined(parts: Iterable[object]) -> Html:
    """Parts one after the other."""
    return Html("".join(text(part) for part in parts))
