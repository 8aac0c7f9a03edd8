"""How a run of tests begins, however it was started."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from fieldplay_testing import session
from fieldplay_testing.session import profiles_variable, restore_interrupts

INTERRUPTED = "import signal; signal.raise_signal(signal.SIGINT); print('went on')"


@pytest.fixture
def in_background() -> Iterator[None]:
    """As a shell starts what runs beside it."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("in_background")
def test_background_run_can_be_interrupted() -> None:
    assert subprocess.run([sys.executable, "-Sc", INTERRUPTED], capture_output=True, check=True).stdout == b"went on\n"
    restore_interrupts()
    ended = subprocess.run([sys.executable, "-Sc", INTERRUPTED], capture_output=True, check=False)
    assert (ended.returncode, ended.stdout) == (-signal.SIGINT, b"")


def test_foreign_listener_is_left_alone() -> None:
    before = signal.getsignal(signal.SIGINT)
    restore_interrupts()
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.parametrize(
    ("package", "name"),
    [("fastrtps", "FASTRTPS_DEFAULT_PROFILES_FILE"), ("fastdds", "FASTDDS_DEFAULT_PROFILES_FILE")],
)
def test_each_fast_dds_has_its_own_name_for_settings(
    package: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "share" / package).mkdir(parents=True)
    monkeypatch.setenv("AMENT_PREFIX_PATH", f"/nowhere:{tmp_path}")
    assert profiles_variable() == name


def output_of_node(**environment: str) -> str:
    """All that a program prints that makes a node and ends."""
    program = "import rclpy; rclpy.init(); rclpy.create_node('quick').destroy_node(); rclpy.shutdown()"
    command = [sys.executable, "-c", program]
    environment = {**os.environ, **environment}
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=True)
    return ended.stdout + ended.stderr


def test_fast_dds_accepts_settings_silently() -> None:
    assert Path(os.environ[profiles_variable()]).name == "quick_discovery.xml"
    assert output_of_node() == ""


def test_fast_dds_reads_settings(tmp_path: Path) -> None:
    damaged = tmp_path / "damaged.xml"
    damaged.write_text("<nothing/>")
    assert str(damaged) in output_of_node(**{profiles_variable(): str(damaged)})


def test_domain_with_killed_programs_comes_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "SHARED_MEMORY", tmp_path)
    monkeypatch.setattr(session, "LOCK_PORT", 31_400)
    first, lock = session.reserve_domain()
    second, other = session.reserve_domain()
    lock.close()
    other.close()
    assert first != second
    (tmp_path / f"fastrtps_port{7400 + 250 * first + 11}").touch()
    (tmp_path / f"fastdds_port{7400 + 250 * second}").touch()
    (tmp_path / "sem.fastrtps_port7400_mutex").touch()
    third, lock = session.reserve_domain()
    lock.close()
    assert third not in (first, second)


def test_ports_of_domain_are_250() -> None:
    names = ["fastrtps_port7400", "fastrtps_port7649", "fastrtps_port7650_el", "fastdds_port32650", "fastdds_1a2b"]
    assert session.domains_with_remains(names) == {0, 101}
