"""docs/adding-a-dataset.md, run as it stands: its files are written, its commands print what it shows."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from support.shown_sessions import output_pattern, session_commands

PAGE = (Path(__file__).parents[1] / "docs" / "adding-a-dataset.md").read_text("utf-8")
FILE = re.compile(r"^`([\w./]+)`:\n\n```\w+\n(.*?)^```", re.MULTILINE | re.DOTALL)
CONSOLE = re.compile(r"^```console\n(.*?)^```", re.MULTILINE | re.DOTALL)
MARK = "--- next command ---"


def commands() -> list[tuple[str, list[str]]]:
    """The commands of the page in their order, each with the lines that it shows."""
    return [command for block in CONSOLE.findall(PAGE) for command in session_commands(block)]


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """What the commands print, run one after another in one shell."""
    folder = tmp_path_factory.mktemp("tutorial")
    for name, content in FILE.findall(PAGE):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(content)
    script = "".join(f"{command}\necho '{MARK}'\n" for command, _ in commands())
    site = folder / "site"  # where pip installs, so that the environment stays as it is
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("PIP_")},
        # pip neither asks for newer versions of itself nor reads what this machine sets for it.
        **{"PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_NO_INDEX": "1", "PIP_CONFIG_FILE": os.devnull},
        "PIP_TARGET": str(site),
        "PYTHONPATH": os.pathsep.join([str(site), os.environ.get("PYTHONPATH", "")]),
        "ROS_LOG_DIR": str(folder / "log"),
    }
    result = subprocess.run(
        ["bash", "-c", script], cwd=folder, env=environment, text=True, timeout=300, check=False,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    return result.stdout.split(f"{MARK}\n")[:-1]


def test_page_has_a_complete_package() -> None:
    names = [name for name, _ in FILE.findall(PAGE)]
    assert {"asl_flight/reader.py", "asl_flight/asl_flight.yaml", "test_asl_flight.py", "pyproject.toml"} <= set(names)
    assert len(commands()) > 10


@pytest.mark.parametrize("index", range(len(commands())), ids=[command for command, _ in commands()])
def test_command_prints_what_the_page_shows(index: int, printed: list[str]) -> None:
    command, shown = commands()[index]
    assert index < len(printed), f"the shell ended before: {command}"
    assert re.fullmatch(output_pattern(shown), printed[index]), f"$ {command}\n{printed[index]}"
