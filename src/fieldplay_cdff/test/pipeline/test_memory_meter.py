"""Memory of a piece of work, against arrays of known size."""

import mmap
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from fieldplay_cdff.pipeline import memory_meter
from fieldplay_cdff.pipeline.memory_meter import MemoryMeter
from fieldplay_cdff.pipeline.statistics import RunStatistics, StepStatistics

MB = 10**6


def fresh_memory(size: int) -> NDArray[np.uint8]:
    """Bytes that are mapped for them alone: an array of NumPy may get memory that other tests have left."""
    array = np.frombuffer(mmap.mmap(-1, size), np.uint8)
    array[:] = 1
    return array


def test_peak_is_that_of_the_work_and_growth_what_stays() -> None:
    meter = MemoryMeter()
    assert meter.method == "VmHWM", "Linux lets a process reset its own peak"
    start = meter.start()
    temporary = fresh_memory(80 * MB)
    kept = fresh_memory(48 * MB)
    del temporary
    peak, growth = meter.growth(start)
    assert 120 * MB < peak < 150 * MB
    assert 40 * MB < growth < 70 * MB
    peak, growth = meter.growth(meter.start())
    assert peak < 20 * MB, "the peak of the work before does not count"
    assert kept.sum() == 48 * MB


def test_resident_memory_stands_in_where_the_peak_cannot_be_reset(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(memory_meter, "CLEAR", tmp_path / "no" / "file")
    meter = MemoryMeter()
    assert meter.method == "VmRSS"
    start = meter.start()
    kept = fresh_memory(64 * MB)
    peak, growth = meter.growth(start)
    assert peak == growth and 50 * MB < peak < 100 * MB and len(kept)


def test_nothing_is_measured_without_proc(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(memory_meter, "STATUS", tmp_path / "status")
    meter = MemoryMeter()
    assert (meter.method, meter.start(), meter.growth(0)) == ("", 0, (0, 0))


def test_statistics_have_the_largest_peak_and_the_sum_of_growths() -> None:
    step = StepStatistics("map", "PointCloudAssembly", "CloudMap")
    for memory in ((5 * MB, 2 * MB), (9 * MB, -1 * MB), (3 * MB, 0)):
        step.took(memory)
    assert step.as_dict()["memory"] == {"peak": 9 * MB, "growth": MB}
    statistics = RunStatistics({"map": step}, memory_method="VmHWM")
    assert statistics.as_dict()["memory_method"] == "VmHWM"
    head, row = statistics.table()
    assert head.endswith("MB peak") and row.endswith("9.0")
    assert not RunStatistics({"map": step}).table()[0].endswith("MB peak")
