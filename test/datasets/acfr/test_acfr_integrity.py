"""Samples of dust, smoke and rain: what the comparison with the radar finds, against what is true of each return."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from fieldplay.cli.main import main
from fieldplay_samples.write_sample import SampleOptions
from support.bag_messages import messages_of_bag
from support.sampled import Sampled, sampled

SECONDS = 8.0
MADE_WITH: dict[str, Any] = {"static": True, "visual_rate_hz": 0.2, "ir_rate_hz": 0.2, "image_shrink": 16}
CONDITIONS = {"dust": "dust or smoke", "smoke": "dust or smoke", "rain": "rain"}
LEAST_SHARE = {"dust": 0.15, "smoke": 0.15, "rain": 0.01}  # of returns in the air from which the verdict must be right
FOLDERS = {
    "horizontal": "LaserHorizontal",
    "vertical": "LaserVertical",
    "port": "LaserPort",
    "starboard": "LaserStarboard",
}
NEAR_M = 3.2  # before everything that the radar sees in the scene
WINDOW_S = 2.0  # of the reports
CLOUD, DROP = 1, 2


@dataclass(frozen=True, eq=False, kw_only=True)
class RadarCoverage:
    """Returns of a laser (n, 181) at times (n,) in s: met, taken out, and of what; reports as (time, verdict)."""

    time_s: NDArray[np.float64]
    ranges_m: NDArray[np.float64]
    met: NDArray[np.bool_]
    taken: NDArray[np.bool_]
    airborne: NDArray[np.uint8]
    reports: list[tuple[float, str]]


@pytest.fixture(scope="module", params=sorted(CONDITIONS))
def sample(request: pytest.FixtureRequest, pytestconfig: pytest.Config) -> tuple[str, Sampled]:
    settings = {**MADE_WITH, "condition": request.param}
    folder = pytestconfig.cache.mkdir(f"samples_acfr_{request.param}")
    return request.param, sampled("acfr", folder, SampleOptions(seconds=SECONDS, settings=settings))


@pytest.fixture(scope="module")
def seen(sample: tuple[str, Sampled]) -> dict[str, RadarCoverage]:
    """By laser, what the bag and the truth hold."""
    _, result = sample
    messages = messages_in(result.bag)
    with np.load(result.archive.with_name(f"{result.archive.name}.airborne.npz")) as truth:
        return {laser: seen_by(laser, messages, dict(truth)) for laser in FOLDERS}


def messages_in(bag: Path) -> dict[str, list[Any]]:
    names = [f"/acfr/laser_{laser}/{name}" for laser in FOLDERS for name in ("scan", "scan_filtered", "integrity")]
    return {topic: [message for _, message in result] for topic, result in messages_of_bag(bag, names).items()}


def stamps_of(messages: list[Any]) -> NDArray[np.int64]:
    return np.array([m.header.stamp.sec * 10**9 + m.header.stamp.nanosec for m in messages], np.int64)


def ranges_of(scans: list[Any]) -> NDArray[np.float64]:
    return np.stack([np.pad(s.ranges.astype(float), (0, 181 - len(s.ranges)), constant_values=np.nan) for s in scans])


def seen_by(laser: str, messages: dict[str, list[Any]], truth: dict[str, Any]) -> RadarCoverage:
    scans, filtered = (messages[f"/acfr/laser_{laser}/{name}"] for name in ("scan", "scan_filtered"))
    output = messages[f"/acfr/laser_{laser}/integrity"]
    stamp_ns = stamps_of(scans)
    assert np.array_equal(stamp_ns, truth[f"{FOLDERS[laser]}_stamp_ns"])
    assert np.array_equal(stamp_ns, stamps_of(filtered))
    ranges, remaining = ranges_of(scans), ranges_of(filtered)
    airborne = np.zeros(ranges.shape, np.uint8)
    for row, scan in enumerate(scans):  # the archive's beams run clockwise
        count = len(scan.ranges)
        airborne[row, :count] = truth[f"{FOLDERS[laser]}_airborne"][row, :count][::-1]
    met = np.isfinite(ranges)
    assert np.array_equal(remaining[np.isfinite(remaining)], ranges[np.isfinite(remaining)])
    times = (stamps_of(output) - stamp_ns[0]) / 1e9
    reports = [(float(time), message.status[0].message) for time, message in zip(times, output, strict=True)]
    return RadarCoverage(
        time_s=(stamp_ns - stamp_ns[0]) / 1e9,
        ranges_m=ranges,
        met=met,
        taken=met & np.isnan(remaining),
        airborne=np.where(met, airborne, 0).astype(np.uint8),
        reports=reports,
    )


@pytest.mark.parametrize("laser", FOLDERS)
def test_most_of_what_is_in_air_is_taken_out_and_nothing_solid(laser: str, seen: dict[str, RadarCoverage]) -> None:
    result = seen[laser]
    airborne = result.airborne > 0
    near = airborne & (result.ranges_m < NEAR_M)
    assert near.sum() > 100
    assert result.taken[airborne].mean() > 0.45
    if laser != "vertical":  # of which most lies above or below what the radar sees
        assert result.taken[near].mean() > 0.75
    assert (result.taken & ~airborne).sum() < 0.0005 * result.met.sum()


@pytest.mark.parametrize("laser", FOLDERS)
def test_conditions_are_distinguished_and_from_clear_air(
    laser: str, sample: tuple[str, Sampled], seen: dict[str, RadarCoverage]
) -> None:
    condition, _ = sample
    result = seen[laser]
    by_name: dict[str, set[str]] = {"clear": set(), "between": set(), condition: set()}
    for time_s, verdict in result.reports:
        window = (result.time_s > time_s - WINDOW_S) & (result.time_s <= time_s)
        airborne, met = (result.airborne[window] > 0).sum(), result.met[window].sum()
        is_there = airborne > LEAST_SHARE[condition] * met
        by_name["clear" if airborne == 0 else condition if is_there else "between"].add(verdict)
    assert by_name["clear"] == {"clear"}
    assert by_name[condition] == {CONDITIONS[condition]}
    assert by_name["between"] <= {"clear", "rain", CONDITIONS[condition]}  # the first of thin dust are single returns


def test_in_clear_air_hardly_anything_is_taken_out(seen: dict[str, RadarCoverage]) -> None:
    for result in seen.values():
        before = result.time_s < result.time_s[np.argmax((result.airborne > 0).any(axis=1))]
        assert before.sum() > 50
        assert result.taken[before].sum() < 0.0005 * result.met[before].sum()


def test_drops_and_clouds_are_reported_for_as_what_they_are(
    sample: tuple[str, Sampled], seen: dict[str, RadarCoverage]
) -> None:
    condition, _ = sample
    kinds = {int(kind) for result in seen.values() for kind in np.unique(result.airborne[result.taken])}
    assert kinds - {0} == ({DROP} if condition == "rain" else {CLOUD})


def test_report_of_bag_and_of_archive_shows_it(sample: tuple[str, Sampled], tmp_path: Path) -> None:
    condition, result = sample
    pages = [tmp_path / "bag.html", tmp_path / "archive.html"]
    for source, page in zip((result.bag, result.archive), pages, strict=True):
        assert main(["report", str(source), str(page)]) == 0
    texts = [page.read_text() for page in pages]
    starts = [text.index('id="bearings"') for text in texts]
    sections = [text[at : text.index("</section>", at)] for text, at in zip(texts, starts, strict=True)]
    for section in sections:
        assert section.count("% of them taken out") == len(FOLDERS)
        assert f"{CONDITIONS[condition]}: " in section
    texts_alone = [re.sub(r"<svg.*?</svg>", "", section, flags=re.DOTALL) for section in sections]
    assert texts_alone[0] == texts_alone[1]
