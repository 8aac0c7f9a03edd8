"""Commands that documents show are ones that the command line accepts: names and options exist."""

import re
import shlex
from pathlib import Path

import pytest

from fieldplay.cli.main import commands as known_commands
from fieldplay.cli.main import make_parser
from fieldplay.cli.parser import CommandParser
from fieldplay.player.options import OPTIONS

ROOT = Path(__file__).parents[1]
DOCUMENTS = [ROOT / "README.md", ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md", *sorted(ROOT.glob("docs/**/*.md"))]
BLOCK = re.compile(r"^```\w*\n(.*?)^```", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^(?:\$ )?(?:\./ws exec )?fieldplay ([a-z].*)$", re.MULTILINE)
SYNTAX = re.compile(r"[\[\]<>]|\.\.\. |\|\w")  # what is no command but its syntax


def commands(path: Path) -> list[str]:
    """The commands of fieldplay in the code blocks of a document, without prompts and comments."""
    blocks = BLOCK.findall(path.read_text("utf-8"))
    lines = [line for block in blocks for line in COMMAND.findall(block.replace("\\\n", " "))]
    return [line for line in lines if not SYNTAX.search(line.partition("  #")[0])]


def test_documents_show_commands() -> None:
    assert sum(len(commands(path)) for path in DOCUMENTS) > 100


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_commands_are_accepted(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(parser: CommandParser, message: str) -> None:
        raise ValueError(message)

    monkeypatch.setattr(CommandParser, "error", refuse)
    refused: dict[str, str] = {}
    for line in commands(path):
        name, *arguments = shlex.split(line.partition(" | ")[0], comments=True)
        try:
            make_parser(name).parse_args([name, *arguments])
        except (ValueError, KeyError) as error:
            refused[line] = str(error)
    assert refused == {}


def test_page_on_playing_names_every_option() -> None:
    page = (ROOT / "docs" / "playing.md").read_text("utf-8")
    assert [name for name in OPTIONS if f"`{name}`" not in page] == []


def test_every_command_and_option_is_documented() -> None:
    text = "\n".join(path.read_text("utf-8") for path in DOCUMENTS)
    overview = (ROOT / "docs" / "commands.md").read_text("utf-8")
    for name in known_commands():
        assert f"| `{name}" in overview
        (subparsers,) = (each for each in make_parser(name)._actions if isinstance(each.choices, dict))
        options = {text for action in subparsers.choices[name]._actions for text in action.option_strings}
        missing = {option for option in options - {"--help"} if option.startswith("--") and option not in text}
        assert {option for option in missing if not option.startswith("--no-")} == set(), name
