"""`fieldplay play` and the player alone pass over IDA's gaps of sols, as its launch does."""

import subprocess
from pathlib import Path

import pytest
from ament_index_python.packages import get_package_prefix

from fieldplay_samples.write_sample import SampleOptions, write_sample

PATIENCE_S = 60.0
PLAYER = Path(get_package_prefix("fieldplay_ros")) / "lib" / "fieldplay_ros" / "player"


@pytest.mark.parametrize("kind", ["command", "node"])
def test_gaps_of_months_are_skipped_where_nothing_is_reported(kind: str, tmp_path: Path) -> None:
    root = tmp_path / "bundle"
    write_sample("ida", root, SampleOptions(seconds=2, workers=1))
    commands = {
        "command": ["fieldplay", "play", str(root), "--rate", "20"],
        "node": [str(PLAYER), "--ros-args", "-p", f"archive:={root}", "-p", "rate:=20.0"],
    }
    ended = subprocess.run(commands[kind], capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert ended.returncode == 0, ended.stderr
