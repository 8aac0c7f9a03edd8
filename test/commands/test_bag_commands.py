"""`fieldplay info` and `check` of a bag, which is of no dataset."""

import json
import shutil
from pathlib import Path

import pytest

from fieldplay.cli.main import main
from support.sampled import Sampled


def test_info_gives_bag_s_topics(sampled_ameds: Sampled, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", str(sampled_ameds.bag), "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    streams = {stream["topic"]: stream for stream in result["streams"]}
    assert result["dataset"] == "ameds"
    odometry = streams["/ameds/gnss/odom"]
    assert (odometry["type"], odometry["count"]) == ("nav_msgs/msg/Odometry", 2000)
    assert odometry["rate_hz"] == pytest.approx(100, rel=0.01) and streams["/tf_static"]["rate_hz"] is None
    assert main(["info", str(sampled_ameds.bag)]) == 0
    assert "/ameds/lidar/points" in capsys.readouterr().out


def test_check_gives_where_bag_is_damaged(
    sampled_ameds: Sampled, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert main(["check", str(sampled_ameds.bag)]) == 0
    assert "no defects" in capsys.readouterr().out
    shutil.copytree(sampled_ameds.bag, tmp_path / "bag")
    (storage,) = (tmp_path / "bag").glob("*.mcap")
    storage.write_bytes(storage.read_bytes()[: storage.stat().st_size // 2])
    assert main(["check", str(tmp_path / "bag"), "--json"]) == 1
    result = json.loads(capsys.readouterr().out)
    assert result["playable"] and storage.name in {defect["file"] for defect in result["defects"]}
