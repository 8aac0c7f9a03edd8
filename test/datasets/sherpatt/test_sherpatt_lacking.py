"""The wheels against the satellites where one of both is not in the archive: said by every command that is asked."""

from pathlib import Path

import pytest

from fieldplay.cli.main import main
from fieldplay.datasets.registry import open_dataset
from fieldplay.player.options import PlayOptions
from fieldplay.player.player_state import play_plan, start_message
from fieldplay.topics.selection import Selection
from fieldplay_testing import tiny_sherpatt as tiny

NO_TRUTH = "evaluation: not computed, as it compares wheel_odom with dgps/odom, and there is no dgps/odom"
NO_ESTIMATE = NO_TRUTH.removesuffix("dgps/odom") + "wheel_odom"
CASES = [(tiny.ODOMETRY, NO_TRUTH), (tiny.DGPS, NO_ESTIMATE)]


def log(root: Path, *names: str) -> Path:
    states = [tiny.state(time) for time in tiny.times()]
    return tiny.write(root / "a.msg", tiny.log_of({name: ("RigidBodyState", states) for name in names}))


@pytest.mark.parametrize(("name", "message"), CASES)
def test_info_and_conversion_report_what_lacks(
    name: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(log(tmp_path, name))
    assert main(["info", path]) == 0
    assert f"  note: {message}\n" in capsys.readouterr().out
    assert main(["convert", path, str(tmp_path / "bag"), "--derived"]) == 0
    assert message in capsys.readouterr().err.splitlines()
    assert main(["convert", path, str(tmp_path / "plain")]) == 0
    assert message not in capsys.readouterr().err


@pytest.mark.parametrize(("name", "message"), CASES)
def test_player_reports_what_lacks_when_it_starts(name: str, message: str, tmp_path: Path) -> None:
    with open_dataset(log(tmp_path, name), "sherpatt") as archive:
        program, feeds = play_plan(archive, Selection())
        assert start_message(archive, program, feeds, PlayOptions()).endswith(f" topics; {message}")


@pytest.mark.parametrize("names", [[tiny.ODOMETRY, tiny.DGPS], [tiny.BODY_JOINT]])
def test_where_both_or_none_are_there_nothing_is_reported(
    names: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["info", str(log(tmp_path, *names))]) == 0
    assert "not computed" not in capsys.readouterr().out


@pytest.mark.parametrize(("name", "word"), [(tiny.ODOMETRY, "dgps/odom"), (tiny.DGPS, "wheel_odom")])
def test_evaluate_names_what_is_not_there_and_what_is(
    name: str, word: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as end:
        main(["evaluate", str(log(tmp_path, name)), "wheel_odom", "dgps/odom"])
    assert end.value.code == 2
    assert f"error: no topic '{word}' with poses; there are: /sherpatt/" in capsys.readouterr().err
