"""Which ROS domain a run of tests takes."""

from pathlib import Path

import pytest

from fieldplay_testing import session


def test_a_domain_in_which_programs_were_killed_comes_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_the_ports_of_a_domain_are_250() -> None:
    names = ["fastrtps_port7400", "fastrtps_port7649", "fastrtps_port7650_el", "fastdds_port32650", "fastdds_1a2b"]
    assert session.domains_with_remains(names) == {0, 101}
