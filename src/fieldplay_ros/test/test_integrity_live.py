"""Scans that come one by one: they are judged as all at once, and anew when time jumps back."""

import numpy as np
import pytest

from fieldplay.dust.sensor_integrity import SensorIntegrity
from fieldplay.kinematics.computation import JUMPED_BACK, FrameNames
from fieldplay.messages.records import Clouds, LaserScans, Record
from fieldplay_testing.hazy_scene import LASER, RADAR, Air, Array, Yard, scans_of, turns_of

SECONDS = 1.0
AIR = Yard(air=Air(dust_per_m=0.3))


def make_computation() -> SensorIntegrity:
    """It knows where its sensors are, and has seen all revolutions of the radar."""
    computation = SensorIntegrity({"lasers": ["laser"]})
    mounted: dict[str, Array] = {"laser": LASER, "radar": RADAR}
    computation.link = lambda parent, child: mounted[child]
    computation.frames = {"scan": FrameNames("laser"), "radar": FrameNames("radar")}
    return computation


@pytest.fixture(scope="module")
def scans() -> LaserScans:
    seen = scans_of(AIR, SECONDS, LASER)[0]
    same = np.ones(len(seen))
    return LaserScans(
        stamp_ns=seen.stamp_ns, angle_min_rad=seen.angle_min_rad, angle_increment_rad=seen.angle_increment_rad,
        ranges_m=seen.ranges_m, count=np.full(len(seen), seen.ranges_m.shape[1]), range_min_m=0 * same,
        range_max_m=81 * same, scan_time_s=same, time_increment_s=same,
    )  # fmt: skip


@pytest.fixture(scope="module")
def clouds() -> Clouds:
    stamps, turns = turns_of(AIR, SECONDS)

    def load(row: int) -> np.ndarray:
        points = np.zeros(len(turns[row]), [(axis, "<f4") for axis in "xyz"])
        for number, axis in enumerate("xyz"):
            points[axis] = turns[row][:, number]
        return points

    return Clouds(stamp_ns=stamps, names=("",) * len(stamps), load=load)


def ranges_of(computation: SensorIntegrity, name: str, record: Record) -> list[Array]:
    return [output.ranges_m for _, output in computation.step(name, record) if isinstance(output, LaserScans)]


def row(scans: LaserScans, number: int) -> LaserScans:
    return scans.only(np.array([number]))


def test_online_integrity_equals_batch(scans: LaserScans, clouds: Clouds) -> None:
    whole, single = make_computation(), make_computation()
    warnings: list[str] = []
    single.warn = warnings.append
    assert ranges_of(whole, "radar", clouds) == ranges_of(single, "radar", clouds) == []
    (batch,) = ranges_of(whole, "scan", scans)
    ranges = [ranges_of(single, "scan", row(scans, number))[0][0] for number in range(len(scans))]
    assert np.isnan(batch).sum() > np.isnan(scans.ranges_m).sum() + 100
    assert np.array_equal(np.stack(ranges), batch, equal_nan=True) and warnings == []


def test_scan_of_earlier_time_is_classified_as_first(scans: LaserScans, clouds: Clouds) -> None:
    ahead, fresh = make_computation(), make_computation()
    warnings: list[str] = []
    ahead.warn = warnings.append
    for computation in (ahead, fresh):
        ranges_of(computation, "radar", clouds)
    ranges_of(ahead, "scan", scans)
    early = row(scans, len(scans) // 2)
    later = ranges_of(ahead, "scan", early), ranges_of(fresh, "scan", early)
    assert np.array_equal(later[0], later[1], equal_nan=True) and warnings == [JUMPED_BACK]


@pytest.mark.parametrize("is_later", [False, True])
def test_state_of_later_time_is_discarded(scans: LaserScans, clouds: Clouds, is_later: bool) -> None:
    known, fresh = make_computation(), make_computation()
    last = len(scans) - 1
    for computation in (known, fresh):
        ranges_of(computation, "radar", clouds)
    ranges_of(known, "scan", scans.only(np.arange(last)))
    known.forget(int(scans.stamp_ns[last - 1]) - is_later)
    alone = [ranges_of(computation, "scan", row(scans, last)) for computation in (known, fresh)]
    assert np.array_equal(*alone, equal_nan=True) == is_later
