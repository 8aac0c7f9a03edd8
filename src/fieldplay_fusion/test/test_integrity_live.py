"""Scans that come one by one: they are judged as all at once, and anew when time jumps back."""

import numpy as np
import pytest
from hazy_scene import LASER, RADAR, Air, Yard, scans_of, turns_of

from fieldplay_fusion.integrity import integrity_from_scans
from fieldplay_fusion.integrity_live import known_until, next_integrity
from fieldplay_fusion.integrity_radar import RadarViews, mounting_from_base, nearest_from_returns
from fieldplay_fusion.integrity_scans import Scans
from fieldplay_fusion.integrity_settings import IntegritySettings

SETTINGS = IntegritySettings()
MOUNTING = mounting_from_base(LASER, RADAR)
SECONDS = 1.0


@pytest.fixture(scope="module")
def scans() -> Scans:
    return scans_of(Yard(air=Air(dust_per_m=0.3)), SECONDS, LASER)[0]


@pytest.fixture(scope="module")
def views() -> RadarViews:
    stamps, turns = turns_of(Yard(air=Air(dust_per_m=0.3)), SECONDS)
    return RadarViews(stamp_ns=stamps, nearest_m=np.stack([nearest_from_returns(SETTINGS, turn) for turn in turns]))


def row(scans: Scans, number: int) -> Scans:
    return scans.only(slice(number, number + 1))


def test_one_by_one_they_are_judged_as_all_at_once(scans: Scans, views: RadarViews) -> None:
    batch = integrity_from_scans(SETTINGS, None, scans, views=views, mounting=MOUNTING)
    last, outcomes = None, []
    for number in range(len(scans)):
        found, is_earlier = next_integrity(SETTINGS, last, row(scans, number), views=views, mounting=MOUNTING)
        assert not is_earlier
        last = found.last
        outcomes.append(found.outcomes[0])
    assert np.array_equal(np.stack(outcomes), batch.outcomes)


def test_a_scan_of_an_earlier_time_is_judged_as_if_it_were_the_first(scans: Scans, views: RadarViews) -> None:
    ahead = integrity_from_scans(SETTINGS, None, scans, views=views, mounting=MOUNTING).last
    found, is_earlier = next_integrity(SETTINGS, ahead, row(scans, 0), views=views, mounting=MOUNTING)
    first = integrity_from_scans(SETTINGS, None, row(scans, 0), views=views, mounting=MOUNTING)
    assert is_earlier
    assert np.array_equal(found.outcomes, first.outcomes)
    assert found.last.stamp_ns == scans.stamp_ns[0]


def test_what_is_known_of_a_later_time_is_forgotten(scans: Scans, views: RadarViews) -> None:
    last = integrity_from_scans(SETTINGS, None, scans, views=views, mounting=MOUNTING).last
    assert known_until(last, last.stamp_ns) is last
    assert known_until(last, last.stamp_ns - 1) is None
    assert known_until(None, 0) is None
