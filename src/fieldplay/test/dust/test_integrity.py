"""Laser returns judged in a yard that is drawn by hand: what is solid stays, what is in the air is found and named."""

from dataclasses import replace

import numpy as np
import pytest

from fieldplay.dust.classify import Integrity, filter_ranges, integrity_from_scans
from fieldplay.dust.radar_returns import (
    RadarViews,
    mounting_from_base,
    nearest_from_returns,
    no_views,
)
from fieldplay.dust.scans import (
    IN_FRONT,
    ISOLATED,
    NO_RETURN,
    OK,
    UNKNOWN,
    Flags,
    IntegritySettings,
    Scans,
    integrity_from_settings,
)
from fieldplay_testing.hazy_scene import LASER, PORT, RADAR, Air, Array, Yard, scans_of, turns_of

SETTINGS = IntegritySettings()
SETTLED = 80  # scans after which there is something to remember
UNSEEN = ((8.0, 0.8, 0.06, 2.0), (9.0, -1.0, 0.2, 1.5))


def views_of(yard: Yard, seconds: float) -> RadarViews:
    stamps, turns = turns_of(yard, seconds)
    return RadarViews(stamp_ns=stamps, nearest_m=np.stack([nearest_from_returns(SETTINGS, turn) for turn in turns]))


def judge(yard: Yard, seconds: float = 4.0, laser: Array = LASER) -> tuple[Integrity, Scans, Flags]:
    scans, airborne = scans_of(yard, seconds, laser)
    mounting = mounting_from_base(laser, RADAR)
    integrity = integrity_from_scans(SETTINGS, None, scans, views=views_of(yard, seconds), mounting=mounting)
    return integrity, scans, airborne


def is_flagged(integrity: Integrity) -> Flags:
    return np.asarray((integrity.outcomes == IN_FRONT) | (integrity.outcomes == ISOLATED), bool)


@pytest.mark.parametrize("laser", [LASER, PORT], ids=["horizontal", "port"])
def test_clear_air_flags_nothing_and_compares_most_returns(laser: Array) -> None:
    integrity, scans, _ = judge(Yard(), laser=laser)
    assert not is_flagged(integrity).any()
    returns = np.isfinite(scans.ranges_m)[SETTLED:].sum()
    assert (integrity.outcomes[SETTLED:] == OK).sum() > 0.85 * returns
    assert {report.verdict for report in integrity.reports} == {"clear"}
    assert len(integrity.reports) == 3


@pytest.mark.parametrize("laser", [LASER, PORT], ids=["horizontal", "port"])
@pytest.mark.parametrize(("per_m", "least_fraction"), [(0.03, 0.75), (0.3, 0.9), (1.0, 0.97)])
def test_dust_in_front_of_radar_returns_is_detected(laser: Array, per_m: float, least_fraction: float) -> None:
    integrity, _, airborne = judge(Yard(air=Air(dust_per_m=per_m)), laser=laser)
    hits = is_flagged(integrity) & airborne
    assert hits[SETTLED:].sum() > least_fraction * airborne[SETTLED:].sum()
    assert not (is_flagged(integrity) & ~airborne).any()
    assert [report.verdict for report in integrity.reports[1:]] == ["dust or smoke"] * 2
    if per_m > 0.1:
        fractions = [report.in_front for report in integrity.reports]
        assert (integrity.outcomes[SETTLED:] == IN_FRONT).sum() > 10 * (integrity.outcomes[SETTLED:] == ISOLATED).sum()
        assert min(fractions) > 5 * SETTINGS.dust_share


@pytest.mark.parametrize("fraction", [0.01, 0.03])
def test_rain_drops_are_isolated(fraction: float) -> None:
    integrity, _, airborne = judge(Yard(air=Air(rain_share=fraction)))
    late = integrity.outcomes[SETTLED:]
    assert (late == ISOLATED)[airborne[SETTLED:]].mean() > 0.88
    assert not (is_flagged(integrity) & ~airborne).any()
    assert (late == IN_FRONT).sum() < 0.03 * (late == ISOLATED).sum()
    assert integrity.reports[-1].verdict == "rain"
    assert integrity.reports[-1].isolated == pytest.approx(fraction, rel=0.25)


def test_posts_missed_by_radar_are_kept_while_vehicle_stands() -> None:
    integrity, scans, _ = judge(Yard(unseen_posts=UNSEEN))
    empty, _ = scans_of(Yard(), 4.0)
    on_posts = scans.ranges_m < empty.ranges_m - 1.0
    assert on_posts[SETTLED:].sum() > 700
    assert not is_flagged(integrity).any()
    assert (integrity.outcomes[SETTLED:][on_posts[SETTLED:]] == OK).mean() > 0.95


@pytest.mark.parametrize(("posts", "most"), [((), 0.001), (UNSEEN, 0.002)], ids=["seen", "missed"])
def test_few_solid_returns_are_lost_while_vehicle_drives(
    posts: tuple[tuple[float, float, float, float], ...], most: float
) -> None:
    integrity, scans, _ = judge(Yard(speed_m_s=1.0, unseen_posts=posts))
    assert is_flagged(integrity).sum() < most * np.isfinite(scans.ranges_m).sum()
    assert integrity.reports[-1].verdict == "clear"


def test_dust_is_detected_while_vehicle_drives() -> None:
    integrity, scans, airborne = judge(Yard(speed_m_s=1.0, air=Air(dust_per_m=0.3)))
    hits, false = is_flagged(integrity) & airborne, is_flagged(integrity) & ~airborne
    assert hits[SETTLED:].sum() > 0.8 * airborne[SETTLED:].sum()
    assert false.sum() < 0.001 * np.isfinite(scans.ranges_m).sum()
    assert integrity.reports[-1].verdict == "dust or smoke"


def test_new_person_seen_by_radar_is_kept() -> None:
    """He stands at 5 m from the third second on; the radar meets him as well."""
    alone, somebody = Yard(), Yard(posts=(*Yard().posts, (5.0, 0.5, 0.25, 1.8)))
    (before, _), (after, _) = scans_of(alone, 4.0), scans_of(somebody, 4.0)
    late = (np.arange(len(before)) > len(before) // 2)[:, None]
    scans = replace(before, ranges_m=np.where(late, after.ranges_m, before.ranges_m))
    early_views, late_views = views_of(alone, 4.0), views_of(somebody, 4.0)
    is_late = (np.arange(len(early_views.stamp_ns)) > len(early_views.stamp_ns) // 2)[:, None]
    views = replace(early_views, nearest_m=np.where(is_late, late_views.nearest_m, early_views.nearest_m))
    integrity = integrity_from_scans(SETTINGS, None, scans, views=views, mounting=mounting_from_base(LASER, RADAR))
    on_him = late & (after.ranges_m < before.ranges_m - 1.0)
    assert on_him.sum() > 500
    settled = late[:, 0].argmax() + 45  # the radar's last turns without him count for 0.55 s
    assert not is_flagged(integrity)[settled:].any()
    assert (integrity.outcomes[settled:][on_him[settled:]] == OK).all()


def test_without_radar_nothing_is_in_front_and_drops_are_detected() -> None:
    scans, airborne = scans_of(Yard(air=Air(rain_share=0.02)), 3.0)
    mounting = mounting_from_base(LASER, RADAR)
    integrity = integrity_from_scans(SETTINGS, None, scans, views=no_views(), mounting=mounting)
    assert set(np.unique(integrity.outcomes).tolist()) == {NO_RETURN, ISOLATED, UNKNOWN}
    assert (integrity.outcomes[SETTLED:] == ISOLATED)[airborne[SETTLED:]].mean() > 0.88
    clear, _ = scans_of(Yard(), 3.0)
    integrity = integrity_from_scans(SETTINGS, None, clear, views=no_views(), mounting=mounting)
    assert [report.verdict for report in integrity.reports] == ["not classified"] * 2


@pytest.mark.parametrize("cuts", [(1,), (37, 38, 150), tuple(range(1, 40))])
def test_scans_may_come_in_any_batches(cuts: tuple[int, ...]) -> None:
    yard = Yard(air=Air(dust_per_m=0.2, rain_share=0.01))
    scans, _ = scans_of(yard, 3.0)
    mounting, views = mounting_from_base(LASER, RADAR), views_of(yard, 3.0)
    whole = integrity_from_scans(SETTINGS, None, scans, views=views, mounting=mounting)
    state, parts = None, []
    for start, end in zip((0, *cuts), (*cuts, len(scans)), strict=True):
        part = scans.only(slice(start, end))
        parts.append(integrity_from_scans(SETTINGS, state, part, views=views, mounting=mounting))
        state = parts[-1].last
    assert np.array_equal(np.concatenate([part.outcomes for part in parts]), whole.outcomes)
    assert [report for part in parts for report in part.reports] == whole.reports
    for name in ("suspect", "in_front", "isolated", "unknown", "no_return"):
        joined = np.concatenate([getattr(part.rates, name) for part in parts])
        assert np.array_equal(joined, getattr(whole.rates, name), equal_nan=True)


def test_flagged_ranges_are_nan_and_others_unchanged() -> None:
    ranges = np.array([[1.0, 2.0, np.inf, np.nan, 3.0]])
    outcomes = np.array([[OK, IN_FRONT, NO_RETURN, NO_RETURN, ISOLATED]], np.uint8)
    assert np.array_equal(filter_ranges(ranges, outcomes), [[1, np.nan, np.inf, np.nan, np.nan]], equal_nan=True)


def test_settings_are_set_by_name_and_validated() -> None:
    assert integrity_from_settings({"tolerance_m": 0.7, "lasers": ["a"]}) == IntegritySettings(tolerance_m=0.7)
    with pytest.raises(ValueError, match="window_s: expected more than 0"):
        integrity_from_settings({"window_s": 0.0})
    with pytest.raises(ValueError, match="dust_share: expected a number from 0 on, got -1"):
        integrity_from_settings({"dust_share": -1})
