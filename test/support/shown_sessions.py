"""Sessions in documents: commands after `$ ` in code blocks, and the output that a page shows of them."""

import re
from collections.abc import Iterator


def session_commands(block: str) -> Iterator[tuple[str, list[str]]]:
    """The commands of a code block in their order, each with the lines that the page shows."""
    for text in re.split(r"^\$ ", block.replace("\\\n", " "), flags=re.MULTILINE)[1:]:
        command, *shown = text.rstrip("\n").split("\n")
        yield command.partition("  #")[0].rstrip(), shown


def output_pattern(shown: list[str]) -> str:
    """What matches these lines: `...` stands for anything, on a line of its own for any lines."""
    lines = [
        r"(?s:.*)" if line.strip() == "..." else re.escape(line).replace(r"\.\.\.", ".*") + r"\n" for line in shown
    ]
    return "".join(lines)
