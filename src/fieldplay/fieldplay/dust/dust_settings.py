"""What the comparison of lasers with a radar needs to know, with the names of the dataset's description."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any


@dataclass(frozen=True, kw_only=True)
class IntegritySettings:
    """Lengths in metres, times in seconds, angles in degrees. The defaults fit a radar with a beam of 3 degrees."""

    radar_delay_s: float = 0.15  # a revolution counts from so long after its stamp on: then it is complete
    radar_memory_s: float = 0.4  # and so long after that
    radar_nearest_m: float = 1.0  # what the radar says to be nearer is taken for its own leakage
    cell_deg: float = 3.0  # to either side of a radar return: half its beam and half the step to the next
    below_m: float = 0.5  # a laser return this far below the radar's plane may be of something that is too low for it
    above_m: float = 2.5  # what stands on the ground and is met above the plane blocks it too, but for what hangs over
    tolerance_m: float = 0.5  # in front is what is nearer than the radar's nearest return by more than this
    tolerance_share: float = 0.15  # and this share of the range: the beam's footprint on the ground
    trace_scans: int = 22  # a return is steady if it can be traced back through so many scans, 0.3 s of a fast laser,
    steady_m: float = 0.15  # with steps of at most so much
    isolated_m: float = 0.5  # a single return stands out from its neighbours by more than this
    isolated_within_m: float = 15.0  # from farther away a single drop sends back too little
    window_s: float = 2.0  # of the shares
    report_s: float = 1.0  # between two reports
    dust_share: float = 0.03  # of the judged returns in front of the radar: dust or smoke from here on
    rain_share: float = 0.004  # of the returns that stand alone: rain from here on,
    cloud_share: float = 0.15  # unless so many of the flagged returns lie together: then it is thin dust or smoke
    least_judged: int = 200  # fewer judged returns in a window give no verdict

    def __post_init__(self) -> None:
        for name in (entry.name for entry in fields(self)):
            if not getattr(self, name) >= 0:
                raise ValueError(f"{name}: expected a number from 0 on, got {getattr(self, name)}")
        for name in ("window_s", "report_s", "radar_memory_s", "trace_scans"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name}: expected more than 0, got {getattr(self, name)}")


def integrity_from_settings(settings: Mapping[str, Any]) -> IntegritySettings:
    """The settings from a mapping by name; other names are left alone, as the node has some of its own."""
    names = (entry.name for entry in fields(IntegritySettings) if entry.name in settings)
    return IntegritySettings(**{name: settings[name] for name in names})
