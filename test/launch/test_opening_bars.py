"""The bar while a large log is opened: every command that opens one shows it, on a terminal."""

import io
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr
from pathlib import Path
from typing import Any

import pytest

from fieldplay.cli.main import main
from fieldplay.datasets.registry import open_dataset
from fieldplay.player.options import PlayOptions
from fieldplay_ros import player_node
from fieldplay_testing import tiny_sherpatt as tiny


class Terminal(io.StringIO):
    """Keeps what is written, as a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def log(tmp_path: Path) -> Path:
    states = [tiny.state(time) for time in tiny.times()]
    streams: tiny.Streams = {name: ("RigidBodyState", states) for name in (tiny.ODOMETRY, tiny.DGPS)}
    return tiny.write(tmp_path / "a.msg", tiny.log_of(streams))


@contextmanager
def terminal() -> Iterator[Terminal]:
    """A terminal in the place of stderr; pytest would take back what a fixture puts there."""
    with redirect_stderr(Terminal()) as result:
        yield result


@pytest.mark.parametrize(
    "command",
    [
        "info LOG",
        "check LOG",
        "convert LOG OUT",
        "report LOG OUT.html",
        "evaluate LOG wheel_odom dgps/odom",
        "cdff info LOG",
        "cdff show LOG",
        "cdff index LOG",
        "cdff chunk LOG OUT.msg",
        "cdff join LOG OUT.msg",
        "cdff export LOG OUT",
    ],
)
def test_command_shows_how_far_its_opening_is(command: str, log: Path, tmp_path: Path) -> None:
    fields = [word.replace("LOG", str(log)).replace("OUT", str(tmp_path / "out")) for word in command.split()]
    with terminal() as shown:
        assert main(fields) in (0, 1)
    requested = "reading" if fields[0] == "cdff" else "opening"
    assert any(f"] {requested} " in line and "MB" in line for line in shown.getvalue().split("\r"))


def test_play_shows_it_until_all_is_open_and_hands_on_parameters(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    results: dict[str, Any] = {}

    def play(path: Path, dataset: str | None, options: PlayOptions) -> int:
        with open_dataset(path, dataset, options.selection.parameters) as archive:
            results.update(archive.parameters)
            assert "] opening " in shown.getvalue()
            assert shown.getvalue().endswith("\r\x1b[K")  # the bar is gone before anything is told
        return 0

    monkeypatch.setattr(player_node, "play", play)
    with terminal() as shown:
        assert main(["play", str(log), "--set", "order=log", "--dataset", "sherpatt"]) == 0
    assert results["order"] == "log"
