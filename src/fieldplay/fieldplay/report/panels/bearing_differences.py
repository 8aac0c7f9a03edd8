"""How far before or behind the radar's ranges those of lasers lie, each in the bearing that it has for the radar."""

from collections.abc import Mapping

import numpy as np

from fieldplay.report.html.charts import line_chart
from fieldplay.report.html.curve import Curve
from fieldplay.report.html.markup import Html
from fieldplay.report.html.ticks import number_axis
from fieldplay.report.panels.bearing_grids import LaserSeen, RadarSeen
from fieldplay_fusion.integrity_radar import mounting_from_base, seen_by_radar
from fieldplay_kinematics.frames import Frames
from fieldplay_kinematics.transforms import Array
from fieldplay_messages.batches import Topic
from fieldplay_messages.stamps import NS_PER_S

NEAREST_M, FARTHEST_M, BIN_M = -15.0, 15.0, 0.5
NEAR_IN_TIME_NS = NS_PER_S


def difference_chart(frames: Frames, lasers: Mapping[Topic, LaserSeen], radar: RadarSeen) -> list[Html]:
    """Shares of the returns by their distance from what the radar says, where tf tells where the sensors are."""
    edges = np.arange(NEAREST_M, FARTHEST_M + BIN_M / 2, BIN_M)
    curves = []
    for topic, seen in lasers.items():
        differences = _differences(frames, seen, radar)
        if len(differences):
            counts, _ = np.histogram(np.clip(differences, NEAREST_M, FARTHEST_M), edges)
            curves.append(Curve(topic.name, (edges[1:] + edges[:-1]) / 2, 100.0 * counts / counts.sum()))
    if not curves:
        return []
    x_title = "m; on the left the laser is in front, and the ends hold all that lies beyond them"
    axis = number_axis(NEAREST_M, FARTHEST_M)
    return [line_chart("laser minus radar", curves, unit="% of returns", x_axis=axis, x_title=x_title)]


def _differences(frames: Frames, seen: LaserSeen, radar: RadarSeen) -> Array:
    """Laser minus radar (n,), of the scans that were kept and the revolutions nearest to them in time."""
    moment = np.zeros(1, np.int64)
    found = frames.transform(radar.frame, seen.frame, moment)
    if found is None or not frames.are_fixed(radar.frame, seen.frame) or seen.rows is None:
        return np.zeros(0)
    (radar_stamps, sectors), (stamp_ns, values) = radar.rows.rows(), seen.rows.rows()
    after = np.clip(np.searchsorted(radar_stamps, stamp_ns), 1, max(len(radar_stamps) - 1, 1))
    after = np.minimum(after, len(radar_stamps) - 1)
    before = np.maximum(after - 1, 0)
    closer = stamp_ns - radar_stamps[before] <= radar_stamps[after] - stamp_ns
    nearest = np.where(closer, before, after)
    near = np.abs(radar_stamps[nearest] - stamp_ns) <= NEAR_IN_TIME_NS
    angles = values[near, :1] + seen.step_rad * np.arange(values.shape[1] - 1)
    ranges = values[near, 1:]
    met = np.isfinite(ranges)
    placed = seen_by_radar(mounting_from_base(found[0][0], np.eye(4)), angles, np.where(met, ranges, 0.0))
    radar_m = np.take_along_axis(sectors[nearest[near]], placed.bin, axis=1)
    difference = placed.range_m - radar_m
    return np.asarray(difference[met & np.isfinite(radar_m)], np.float64)
