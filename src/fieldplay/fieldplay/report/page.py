"""The page around its sections: one file that asks the network for nothing, and runs nothing but a script of ours."""

import base64
import hashlib
import html
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fieldplay.core.atomic_output import write_atomically
from fieldplay.core.errors import UsageError

if TYPE_CHECKING:
    from markupsafe import Markup

    Html = Markup
else:
    Html = str  # Jinja2 is loaded when something is drawn: whoever only asks about a file does not need it

MAX_CHARACTERS = 1000
UNPRINTABLE = re.compile(r"[^\t\n\x20-\x7e\xa0-\ud7ff\ue000-\U0010ffff]")
GENERATOR = "fieldplay report"
# Nothing may be fetched, and nothing runs: what a bag holds cannot change that.
POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
SUFFIX = ".html"
LOOKED_AT = 2048  # bytes in which the sign of an earlier page stands


@dataclass(frozen=True)
class Section:
    """A part of the page: its name in addresses, its heading, what stands below."""

    key: str
    title: str
    body: Html
    lead: str = ""


def text(value: object) -> Html:
    """Escape a text for the page, whatever a file holds: what is very long is cut, what no page can hold replaced."""
    if hasattr(value, "__html__"):
        return markup(value)
    shown = str(value)
    shown = shown if len(shown) <= MAX_CHARACTERS else shown[:MAX_CHARACTERS] + "…"
    return markup(html.escape(UNPRINTABLE.sub("\ufffd", shown)))


def path_text(name: object) -> Html:
    """Escape a topic's name, or another with slashes, that may break after each of them."""
    if hasattr(name, "__html__"):
        return markup(name)
    shown = str(name)
    return markup(text(shown[:1]) + text(shown[1:]).replace("/", markup("/<wbr>")))


def markup(value: object) -> Html:
    """Mark a text as markup, which the page takes as it is."""
    from markupsafe import Markup

    return Markup(value)


@cache
def macros() -> Any:
    """The macros of page.html."""
    import jinja2

    environment = jinja2.Environment(autoescape=True, finalize=text, undefined=jinja2.StrictUndefined)
    environment.filters["path"] = path_text
    return environment.from_string(Path(__file__).with_name("page.html").read_text("utf-8")).module


def render(name: str, *arguments: object, **named: object) -> Html:
    """Render a macro of page.html; every argument that is no markup is escaped."""
    result: Html = getattr(macros(), name)(*arguments, **named)
    return result


def join(parts: Iterable[object]) -> Html:
    """Concatenate parts, escaped unless they are markup."""
    return markup("").join(text(part) for part in parts)


def plain_table(
    heads: Sequence[str], rows: Iterable[Sequence[object]], *, title: str = "", is_card: bool = False
) -> Html:
    """A small table; on a phone each row stands on its own, with the heads before the values."""
    return render("plain_table", heads, list(rows), title, is_card)


def page_of_sections(title: str, head: Html, sections: Sequence[Section], script: str = "") -> Html:
    """A whole page with a heading of its own and any sections; a script of ours may move what is there."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = f"{POLICY}; script-src 'sha256-{digest}'" if script else POLICY
    style = Path(__file__).with_name("page.css").read_text("utf-8")
    return render("page", title, head, sections, markup(style), markup(policy), GENERATOR, markup(script))


# The page's file, which appears when it is complete, and replaces nothing but an earlier page.


def require_libraries() -> None:
    """Require what lays out and draws a page, before anything is read."""
    missing = [name for name in ("jinja2", "matplotlib") if find_spec(name) is None]
    if missing:
        packages = " ".join(f"python3-{name}" for name in missing)
        names = " and ".join(missing)
        raise UsageError(f"pages and figures need {names}: pip install {' '.join(missing)}, or apt install {packages}")


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
    """Write the page when it is complete, or not at all; its size in bytes."""
    data = page.encode("utf-8", "replace")
    write_atomically(out, data)
    return len(data)
