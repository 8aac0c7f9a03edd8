"""The page around its sections: one file that asks the network for nothing, and runs nothing but a script of ours."""

import base64
import hashlib
import html
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from fieldplay.core.atomic_output import write_atomically
from fieldplay.core.errors import UsageError

MAX_CHARACTERS = 1000
UNPRINTABLE = re.compile(r"[^\t\n\x20-\x7e\xa0-\ud7ff\ue000-\U0010ffff]")
GENERATOR = "fieldplay report"
# Nothing may be fetched, and nothing runs: what a bag holds cannot change that.
POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
SUFFIX = ".html"
LOOKED_AT = 2048  # bytes in which the sign of an earlier page stands


# Markup that cannot be broken by what files hold: every text is escaped unless it is markup already.


class Html(str):
    """Text that is markup."""

    __slots__ = ()


def text(value: object) -> Html:
    """A text as it is shown; what is very long is cut."""
    if isinstance(value, Html):
        return value
    shown = str(value)
    return _escape(shown if len(shown) <= MAX_CHARACTERS else shown[:MAX_CHARACTERS] + "…")


def path_text(name: str) -> Html:
    """A topic's name, or another with slashes, that may break after each of them."""
    return Html(text(name[:1]) + text(name[1:]).replace("/", "/<wbr>"))


def _escape(value: object) -> Html:
    """Escape markup; characters that no page can hold become replacement characters."""
    return Html(html.escape(UNPRINTABLE.sub("\ufffd", str(value))))


def element(tag: str, /, *children: object, **attributes: object) -> Html:
    """An element with its children; `class_` is class, `aria_label` aria-label, and None leaves an attribute out."""
    attribute_text = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{value if isinstance(value, Html) else _escape(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    return Html(f"<{tag}{attribute_text}>{join_html(children)}</{tag}>")


def void_element(tag: str, /, **attributes: object) -> Html:
    """An element without an end, as img and meta."""
    return Html(element(tag, **attributes).removesuffix(f"</{tag}>"))


def join_html(parts: Iterable[object]) -> Html:
    """Concatenate parts."""
    return Html("".join(text(part) for part in parts))


@dataclass(frozen=True)
class Section:
    """A part of the page: its name in addresses, its heading, what stands below."""

    key: str
    title: str
    body: Html
    lead: str = ""


def page_of_sections(title: str, head: Html, sections: Sequence[Section], script: str = "") -> Html:
    """A whole page with a heading of its own and any sections; a script of ours may move what is there."""
    style = Html(Path(__file__).with_name("html_page.css").read_text("utf-8"))
    links = (element("a", section.title, href=f"#{section.key}") for section in sections)
    body = join_html([head, element("nav", *links), *(_section(section) for section in sections), _footer()])
    meta = join_html(
        [
            void_element("meta", charset="utf-8"),
            void_element("meta", name="viewport", content="width=device-width, initial-scale=1"),
            void_element("meta", name="generator", content=GENERATOR),
            void_element("meta", name="color-scheme", content="light dark"),
            Html(f'<meta http-equiv="Content-Security-Policy" content="{POLICY}{_permit(script)}">'),
            void_element("link", rel="icon", href="data:,"),
            element("title", title),
            element("style", style),
        ]
    )
    last = Html(f"<script>{script}</script>") if script else ""
    return Html(f'<!doctype html>\n<html lang="en"><head>{meta}</head><body><main>{body}</main>{last}</body></html>\n')


def _permit(script: str) -> str:
    """That this very script may run, and no other."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return f"; script-src 'sha256-{digest}'" if script else ""


def cards(figures: Iterable[Html], kind: str = "") -> Html:
    """Figures side by side, as many as the width takes."""
    return element("div", *figures, class_=f"cards {kind}".strip())


def plain_table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> Html:
    """A small table; on a phone each row stands on its own, with the heads before the values."""
    body = (
        element("tr", *(element("td", cell, data_head=head) for head, cell in zip(heads, row, strict=True)))
        for row in rows
    )
    top = element("thead", element("tr", *(element("th", head) for head in heads)))
    return element("table", top, element("tbody", *body), class_="plain")


def _section(section: Section) -> Html:
    lead = element("p", section.lead, class_="lead") if section.lead else ""
    return element("section", element("h2", section.title), lead, section.body, id=section.key)


def _footer() -> Html:
    times = "Times along the axes are since the start; those with a date are UTC."
    return element("footer", f"Made by fieldplay from the data alone. {times}")


# The page's file, which appears when it is complete, and replaces nothing but an earlier page.


def require_output(source: Path, out: Path) -> None:
    """Require an .html file outside of the archive, which is new or an earlier page."""
    if out.suffix.lower() != SUFFIX:
        raise UsageError(f"{out}: expected a name that ends in {SUFFIX}")
    if out.resolve().is_relative_to(source.resolve()):
        raise UsageError(f"{out} lies in what it is to be about, which is never written to")
    if os.path.lexists(out) and not is_report(out):
        raise UsageError(f"{out} exists and is no page of fieldplay: it is not replaced")


def is_report(path: Path) -> bool:
    """Whether a file is a page that was written here."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return f'<meta name="generator" content="{GENERATOR}">'.encode() in file.read(LOOKED_AT)


def write_page(out: Path, page: str) -> int:
    """Put the page in its place, whole or not at all; its size in bytes."""
    data = page.encode("utf-8", "replace")
    write_atomically(out, data)
    return len(data)
