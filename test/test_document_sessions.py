"""The session on IDA's page prints what the page shows; the other pages have the same form."""

import re
import subprocess
from pathlib import Path

import pytest

from support.shown_sessions import output_pattern, session_commands

PAGE = (Path(__file__).parents[1] / "docs" / "datasets" / "ida.md").read_text("utf-8")
BLOCK = re.search(r"^## Use it\n\n```\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
SESSION = [
    each for each in session_commands(BLOCK[1] if BLOCK else "") if "..." not in each[0] and "ros2" not in each[0]
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty folder, in which the commands are run one after another."""
    return tmp_path_factory.mktemp("session")


def test_page_has_a_session() -> None:
    assert [command.split()[1] for command, _ in SESSION][:3] == ["sample", "info", "check"]
    assert sum(bool(shown) for _, shown in SESSION) >= 3


@pytest.mark.parametrize(("command", "shown"), SESSION, ids=[command for command, _ in SESSION])
def test_command_prints_what_the_page_shows(command: str, shown: list[str], folder: Path) -> None:
    result = subprocess.run(
        ["bash", "-c", command], cwd=folder, capture_output=True, text=True, timeout=120, check=False
    )
    assert result.returncode == 0, result.stderr
    assert not shown or re.fullmatch(output_pattern(shown), result.stdout), result.stdout
