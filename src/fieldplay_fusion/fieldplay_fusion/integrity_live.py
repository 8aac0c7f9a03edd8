"""Scans that come one by one, in a time that may jump back: what follows from the next, and what is forgotten."""

from fieldplay_fusion.integrity import Integrity, IntegrityState, integrity_from_scans
from fieldplay_fusion.integrity_radar import Mounting, RadarViews, reach_ns
from fieldplay_fusion.integrity_scans import Scans
from fieldplay_fusion.integrity_settings import IntegritySettings


def next_integrity(
    settings: IntegritySettings, last: IntegrityState | None, scan: Scans, *, views: RadarViews, mounting: Mounting
) -> tuple[Integrity, bool]:
    """What is found of one more scan (one row), and whether it is of an earlier time than the last: it begins anew."""
    stamp_ns = int(scan.stamp_ns[0])
    is_earlier = last is not None and stamp_ns < last.stamp_ns
    seen = views.between(stamp_ns - reach_ns(settings), stamp_ns)
    known = None if is_earlier else last
    return integrity_from_scans(settings, known, scan, views=seen, mounting=mounting), is_earlier


def known_until(last: IntegrityState | None, limit_ns: int) -> IntegrityState | None:
    """What is known of a laser, unless it is of a time after the limit."""
    return None if last is None or last.stamp_ns > limit_ns else last
