"""Scans of a laser without what a radar sees through, how many returns that were, and what it says of the air."""

from collections import deque
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldplay.core.errors import UserError
from fieldplay.dust.classify import AirReport, IntegrityState, filter_ranges, integrity_from_scans
from fieldplay.dust.radar_returns import (
    Mounting,
    mounting_from_base,
    no_views,
    reach_ns,
)
from fieldplay.dust.scans import IntegritySettings, integrity_from_settings, scans_from_messages
from fieldplay.geometry.transforms import Array
from fieldplay.kinematics.computation import (
    JUMPED_BACK,
    Computation,
    Input,
    Output,
    OutputRecords,
    Setting,
)
from fieldplay.messages.records import (
    Clouds,
    Diagnostics,
    LaserScans,
    Record,
    Scalars,
    State,
)

MOST_WAITING = 1000  # scans of a laser that wait for tf, where they come one by one
FINE, WARNING = 0, 1
SCAN, RADAR = "scan", "radar"


class SensorIntegrity(Computation):
    """Classifies the returns of a laser by a radar: scan_filtered, suspect_ratio and integrity below the laser's name.

    Where the sensors are is asked for once. A flagged range is NaN in the filtered scan.
    """

    name = "sensor_integrity"
    each = "lasers"
    is_stateful = True
    needs_links = True
    settings = (
        Setting("frame_prefix", "", "put before the base's name"),
        Setting("frame", "base_link", "a frame whose z axis points up"),
        Setting("lasers", ["laser"], "names, below which scan is subscribed"),
        Setting("radar", "radar/points", "topic of the radar's revolutions"),
        *(Setting(entry.name, entry.default, "see the dataset's page") for entry in fields(IntegritySettings)),
    )

    def __init__(self, settings: Mapping[str, Any]) -> None:
        super().__init__(settings)
        (self._laser,) = self.setting_values["lasers"]
        self._settings = integrity_from_settings(self.setting_values)
        scan, fraction = "sensor_msgs/msg/LaserScan", "std_msgs/msg/Float32"
        self.inputs = (
            Input(name=SCAN, topic=f"{self._laser}/scan", msgtype=scan),
            Input(
                name=RADAR, topic=self.setting_values["radar"], msgtype="sensor_msgs/msg/PointCloud2", sync_with=SCAN
            ),
        )
        self._filtered = Output(topic=f"{self._laser}/scan_filtered", type=scan, frame_of=SCAN)
        self._reports = Output(topic=f"{self._laser}/integrity", type="diagnostic_msgs/msg/DiagnosticArray")
        self._suspect_ratio = Output(topic=f"{self._laser}/suspect_ratio", type=fraction)
        self.outputs = (self._filtered, self._reports, self._suspect_ratio)
        self._mounting: Mounting | None = None
        self._waiting: deque[LaserScans] = deque(maxlen=MOST_WAITING)
        self._state: IntegrityState | None = None
        self._views = no_views()

    @property
    def waiting(self) -> int:
        """How many scans wait until it is known where the sensors are."""
        return sum(len(scans) for scans in self._waiting)

    def step(self, name: str, record: Record) -> OutputRecords:
        if isinstance(record, Clouds):
            self._add_clouds(record)
        elif isinstance(record, LaserScans):
            self._waiting.append(self._valid_scans(record))
        else:
            raise TypeError(f"expected scans of a laser or clouds of a radar, got {type(record).__name__}")
        if self._mounting is None and self._waiting and RADAR in self.frames:
            self._mounting = self._find_mounting()
        while self._mounting is not None and self._waiting:
            yield from self._judge(self._waiting.popleft(), self._mounting)

    def _add_clouds(self, clouds: Clouds) -> None:
        """Add revolutions; a damaged one is reported by `_points`."""
        points = [(row, self._points(clouds, row)) for row in range(len(clouds))]
        seen = [(row, xyz) for row, xyz in points if xyz is not None]
        stamp_ns = clouds.stamp_ns[[row for row, _ in seen]]
        self._views = self._views.with_revolutions(self._settings, stamp_ns, [xyz for _, xyz in seen])

    def _points(self, clouds: Clouds, row: int) -> Array | None:
        try:
            points = clouds.load(row)
        except (OSError, UserError) as error:
            self.warn(f"a cloud is left out: {error}")
            return None
        return np.stack([points[axis].astype(np.float32) for axis in "xyz"], axis=-1).astype(np.float64)

    def _valid_scans(self, scans: LaserScans) -> LaserScans:
        """Those scans that have beams with a step between them."""
        with np.errstate(divide="ignore", invalid="ignore"):
            good: NDArray[np.bool_] = np.isfinite(scans.angle_min_rad) & np.isfinite(1.0 / scans.angle_increment_rad)
        good &= np.full(len(scans), scans.ranges_m.shape[1] > 0)
        if good.all():
            return scans
        row = int(np.flatnonzero(~good)[0])
        beams = f"{scans.count[row]} beams from {scans.angle_min_rad[row]} on, {scans.angle_increment_rad[row]} apart"
        self.warn(f"a message is left out: expected a scan of beams with a step between them, got {beams}")
        return scans.only(good)

    def _find_mounting(self) -> Mounting | None:
        """The mountings of the laser and the radar, as soon as they are known."""
        base = self.frame_of("frame")
        laser, radar = (self.link(base, self.frames[name].frame) for name in (SCAN, RADAR))
        return None if laser is None or radar is None else mounting_from_base(laser, radar)

    def _judge(self, record: LaserScans, mounting: Mounting) -> OutputRecords:
        if not len(record):
            return
        first_ns, last_ns = int(record.stamp_ns[0]), int(record.stamp_ns[-1])
        if self._state is not None and first_ns < self._state.stamp_ns:
            self.warn(JUMPED_BACK)
            self._state = None
        scans = scans_from_messages(
            record.stamp_ns, record.angle_min_rad, record.angle_increment_rad, ranges_m=record.ranges_m,
            limits_m=(record.range_min_m, record.range_max_m),
        )  # fmt: skip
        views = self._views.between(first_ns - reach_ns(self._settings), last_ns)
        integrity = integrity_from_scans(self._settings, self._state, scans, views=views, mounting=mounting)
        self._state = integrity.last
        yield (
            self._filtered,
            replace(record, ranges_m=filter_ranges(record.ranges_m, integrity.outcomes), order_ns=None),
        )
        if integrity.reports:
            yield self._reports, self._diagnostics(integrity.reports)
        yield self._suspect_ratio, Scalars(stamp_ns=record.stamp_ns, values=np.nan_to_num(integrity.rates.suspect))

    def _diagnostics(self, reports: list[AirReport]) -> Diagnostics:
        levels = [FINE if report.is_fine else WARNING for report in reports]
        states = tuple(
            (State(self._laser, level, report.verdict, report.values),)
            for level, report in zip(levels, reports, strict=True)
        )
        stamp_ns = np.array([report.stamp_ns for report in reports], np.int64)
        return Diagnostics(stamp_ns=stamp_ns, states=states, state_index=np.arange(len(reports)))

    def reset(self) -> None:
        super().reset()
        self._views, self._state = no_views(), None

    def forget(self, after_ns: int) -> None:
        self._views = self._views.between(0, after_ns)
        if self._state is not None and self._state.stamp_ns > after_ns:
            self._state = None
