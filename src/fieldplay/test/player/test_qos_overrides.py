from pathlib import Path

import pytest

from fieldplay.core.resources import config_folders
from fieldplay.player import qos_overrides
from fieldplay.player.qos_overrides import use_profile


@pytest.fixture
def version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The description of the layer that ROS 2 has on Fast DDS, in an installation with no more than that."""
    for name in qos_overrides.FILES:
        monkeypatch.setenv(name, "")  # not deleted: what is not there already is not taken away again behind the test
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(tmp_path))
    path = tmp_path / "share" / "rmw_fastrtps_cpp" / "package.xml"
    path.parent.mkdir(parents=True)
    return path


@pytest.mark.parametrize(
    ("number", "name", "file", "word"),
    [
        ("8.4.3", "FASTRTPS_DEFAULT_PROFILES_FILE", "fastdds.xml", "heartbeatPeriod"),
        ("9.3.3", "FASTDDS_DEFAULT_PROFILES_FILE", "fastdds3.xml", "heartbeat_period"),
    ],
)
def test_each_fast_dds_version_gets_its_profile(version: Path, number: str, name: str, file: str, word: str) -> None:
    version.write_text(f"<package><name>rmw_fastrtps_cpp</name><version>{number}</version></package>")
    ((used, path),) = use_profile().items()
    assert (used, Path(path).name) == (name, file)
    assert f"<{word}>" in Path(path).read_text()
    assert use_profile() == {}  # it is the user's from now on


def test_profile_of_user_is_preserved(version: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FASTDDS_DEFAULT_PROFILES_FILE", "mine.xml")
    assert use_profile() == {}


def test_profiles_of_both_versions_agree() -> None:
    (first, second) = (list(config_folders())[-1] / file for file in qos_overrides.FILES.values())
    same = second.read_text().replace("heartbeat_period", "heartbeatPeriod")
    assert same.partition("-->")[2] == first.read_text().partition("-->")[2]
