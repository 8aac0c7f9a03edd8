"""The page around its sections: one file that asks the network for nothing, and runs nothing but a script of ours."""

import base64
import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from fieldplay.report.html.markup import Html, element, joined, void

GENERATOR = "fieldplay report"
# Nothing may be fetched, and nothing runs: what a bag holds cannot change that.
POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"


@dataclass(frozen=True)
class Section:
    """A part of the page: its name in addresses, its heading, what stands below."""

    key: str
    title: str
    body: Html
    lead: str = ""


def page_of_sections(title: str, head: Html, sections: Sequence[Section], script: str = "") -> Html:
    """A whole page with a heading of its own and any sections; a script of ours may move what is there."""
    style = Html(Path(__file__).with_name("page.css").read_text("utf-8"))
    links = (element("a", section.title, href=f"#{section.key}") for section in sections)
    body = joined([head, element("nav", *links), *(_section(section) for section in sections), _footer()])
    meta = joined(
        [
            void("meta", charset="utf-8"),
            void("meta", name="viewport", content="width=device-width, initial-scale=1"),
            void("meta", name="generator", content=GENERATOR),
            void("meta", name="color-scheme", content="light dark"),
            Html(f'<meta http-equiv="Content-Security-Policy" content="{POLICY}{_permit(script)}">'),
            void("link", rel="icon", href="data:,"),
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
