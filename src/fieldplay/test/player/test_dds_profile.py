"""Fast DDS gets the settings that playing needs, and a profile of the user's own keeps what it says."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from fieldplay.core.resources import config_folders
from fieldplay.player import dds_profile
from fieldplay.player.dds_profile import completed_profile, profile_issue, use_profile


@pytest.fixture
def version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The description of the layer that ROS 2 has on Fast DDS, in an installation with no more than that."""
    for name in dds_profile.FILES:
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
    (first, second) = (list(config_folders())[-1] / file for file in dds_profile.FILES.values())
    same = second.read_text().replace("heartbeat_period", "heartbeatPeriod")
    assert same.partition("-->")[2] == first.read_text().partition("-->")[2]


FAST_DDS_2 = "<package><name>rmw_fastrtps_cpp</name><version>8.4.3</version></package>"
VARIABLE = "FASTRTPS_DEFAULT_PROFILES_FILE"
SPACE = "http://www.eprosima.com/XMLSchemas/fastRTPS_Profiles"


@pytest.fixture
def completed(version: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], tuple[str, str]]:
    """Complete a profile; the text that Fast DDS reads then, and what is still wrong with it."""

    def complete(text: str) -> tuple[str, str]:
        version.write_text(FAST_DDS_2)
        path = tmp_path / "mine.xml"
        path.write_text(text)
        monkeypatch.setenv(VARIABLE, str(path))
        with completed_profile():
            in_force = Path(os.environ[VARIABLE])
            result = in_force.read_text(), profile_issue()
        assert path.read_text() == text
        assert os.environ[VARIABLE] == str(path)
        assert in_force == path or not in_force.exists()
        return result

    return complete


@pytest.mark.parametrize("shape", ["<profiles/>", "<dds><profiles></profiles></dds>", f'<profiles xmlns="{SPACE}"/>'])
def test_empty_profile_gets_writers_and_participant(completed: Any, shape: str) -> None:
    text, issue = completed(shape)
    assert issue == ""
    root = ElementTree.fromstring(text)
    space = f"{{{SPACE}}}" if "xmlns" in shape else ""
    assert "ns0:" not in text  # Fast DDS knows no prefixes
    profiles = root if root.tag.endswith("profiles") else root[0]
    assert [part.tag for part in profiles] == [
        f"{space}{name}" for name in ("transport_descriptors", "participant", "data_writer")
    ]
    assert [part.text for part in root.iter(f"{space}nanosec")] == ["100000000"]


def test_defaults_of_user_stay_and_small_segment_is_warned_of(completed: Any) -> None:
    own = '<profiles><participant profile_name="mine" is_default_profile="true"/></profiles>'
    text, issue = completed(own)
    assert [part.get("profile_name") for part in ElementTree.fromstring(text)] == ["mine", "fieldplay_writer"]
    assert "images and clouds may arrive late" in issue


def test_user_profile_of_everything_is_read_as_it_is(completed: Any) -> None:
    own = (
        '<profiles><participant profile_name="p" is_default_profile="true"/>'
        '<data_writer profile_name="w" is_default_profile="true"/></profiles>'
    )
    assert completed(own)[0] == own


def test_names_that_are_taken_are_not_given_twice(completed: Any) -> None:
    own = '<profiles><data_writer profile_name="fieldplay_writer"/></profiles>'
    assert completed(own)[0] == own


def test_transports_chosen_by_variable_stay(completed: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FASTDDS_BUILTIN_TRANSPORTS", "UDPv4")
    text, issue = completed("<profiles/>")
    assert [part.tag for part in ElementTree.fromstring(text)] == ["data_writer"]
    assert "may arrive late" in issue


@pytest.mark.parametrize(
    ("text", "word"), [("<profiles>", "no element found"), ("<a/>", "expected an element 'profiles'")]
)
def test_profile_that_cannot_be_read_is_named(completed: Any, text: str, word: str) -> None:
    issue = completed(text)[1]
    assert word in issue and "mine.xml" in issue


def test_own_profile_is_not_completed(version: Path) -> None:
    version.write_text(FAST_DDS_2)
    ((_, path),) = use_profile().items()
    with completed_profile():
        assert (os.environ[VARIABLE], profile_issue()) == (path, "")
