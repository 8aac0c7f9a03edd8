"""The page's file, which appears when it is complete, and replaces nothing but an earlier page."""

import os
from pathlib import Path

from fieldplay.core.atomic_output import write_whole
from fieldplay.core.errors import UsageError
from fieldplay.report.html.page import GENERATOR

SUFFIX = ".html"
LOOKED_AT = 2048  # bytes in which the sign of an earlier page stands


def require_place(source: Path, out: Path) -> None:
    """The page must be an .html file outside of what it is about, and new, or a page like it."""
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
    write_whole(out, data)
    return len(data)
