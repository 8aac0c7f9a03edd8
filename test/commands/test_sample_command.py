"""`fieldplay sample`: an archive that is one, its truth beside it, and what it says when it cannot."""

import re
import subprocess
import zipfile
from pathlib import Path

import pytest

from fieldplay.cli.main import main

SHORT = ("--seconds", "2", "--image-rate-hz", "0.5", "--lidar-rate-hz", "0.5", "--image-shrink", "8")


def test_zipped_sample_is_archive_without_defect(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "etna.zip"
    command = ["fieldplay", "sample", "ameds", str(out), *SHORT]
    result = subprocess.run(command, capture_output=True, text=True, check=False)  # its processes start it again
    truth = tmp_path / "etna.truth.csv"
    assert result.stdout == f"{out}: 2 s of ameds; ground truth: {truth}\n", result.stderr
    assert truth.read_text().startswith("stamp_ns,x_m,y_m,z_m,qx,qy,qz,qw,")
    assert not any("truth" in name for name in zipfile.ZipFile(out).namelist())
    assert main(["check", str(out)]) == 0
    assert "no defects" in capsys.readouterr().out
    assert main(["sample", "ameds", str(out), *SHORT]) == 0
    assert "it was there already" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("ameds", "{}", "--seconds", "1"), "seconds: expected 2 to 3600, got 1.0"),
        (("ameds", "{}", "--image-shrink", "none"), "image_shrink: expected a number, got 'none'"),
        (("sherpatt", "{}", "--set", "scene=barrel"), "scene: expected rocks, box or passing, got 'barrel'"),
        (("sherpatt", "{}", "--set", "route=back"), "route: expected free, loop or again, got 'back'"),
        (("sherpatt", "{}", "--set", "scne=box"), "sherpatt has no setting 'scne': there are image_rate_hz"),
        (("mars", "{}"), r"invalid choice: 'mars' \(choose from .*ameds"),
        ((), "the following arguments are required: DATASET"),
    ],
)
def test_what_cannot_be_made_is_reported_and_nothing_is_written(
    arguments: tuple[str, ...], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as end:
        main(["sample", *(word.format(tmp_path / "out") for word in arguments)])
    assert end.value.code == 2
    assert re.search(message, capsys.readouterr().err)
    assert list(tmp_path.iterdir()) == []


def test_what_is_not_sample_is_not_written_over(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "file").write_text("mine")
    with pytest.raises(SystemExit):
        main(["sample", "ameds", str(tmp_path / "mine"), *SHORT])
    assert "is there already and not a sample made here" in capsys.readouterr().err
    assert [path.name for path in tmp_path.rglob("*")] == ["mine", "file"]
