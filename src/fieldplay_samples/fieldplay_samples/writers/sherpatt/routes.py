"""Drives on a route that comes back to where it began: a lap and the first metres again, or a lap of another day."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from fieldplay_samples.motion.frames import Floats, floats, rotation_about
from fieldplay_samples.motion.plan import Changes, DrivePlan
from fieldplay_samples.motion.route import CurvatureAlong, Route
from fieldplay_samples.world.light import Sun

CORNERS = 240  # of the line along a route that rocks keep off


@dataclass(frozen=True, kw_only=True)
class RouteDrive:
    """A drive on a route, some of which it may keep aside of: where it begins, how far it goes, in which light."""

    numbers: dict[str, Any]  # of all routes
    start_xy_heading: tuple[float, float, float]  # of the loop
    name: str

    @property
    def own(self) -> dict[str, Any]:
        """What this route has of its own."""
        numbers: dict[str, Any] = self.numbers[self.name]
        return numbers

    def route(self, *, aside: bool = True) -> Route:
        """The way that it goes; or that of the loop, which it keeps aside of."""
        kept = tuple(map(tuple, self.own["aside"])) if aside else ()
        return Route(length_m=self.numbers["length"], waves=tuple(map(tuple, self.numbers["waves"])), aside=kept)

    def seconds(self) -> float:
        """How long it takes, standing at both ends."""
        way = self.route().driven_m * self.own["laps"] + self.own["more"]
        return float(2 * self.numbers["stands"] + self.numbers["speeds_up"] + way / self.numbers["speed"])

    def plan(self, seconds: float) -> DrivePlan:
        """Its first seconds."""
        change = self.numbers["speeds_up"]
        slows = self.seconds() - self.numbers["stands"] - change
        speed = Changes(
            start_s=floats([self.numbers["stands"], slows]),
            duration_s=floats([change, change]),
            amount=floats([self.numbers["speed"], -self.numbers["speed"]]),
        )
        curvature = CurvatureAlong(route=self.route(), from_m=self.own["from"], speed_m_s=speed)
        return DrivePlan(seconds=seconds, speed_m_s=speed, curvature_1_m=curvature)

    def start(self) -> tuple[float, float, float]:
        """x, y in m and heading in rad in the map, where it begins."""
        route = self.route()
        turn = route.turn_at(floats([self.own["from"]]))
        x, y, heading = self._in_map(*route.place(turn))
        return float(x[0]), float(y[0]), float(heading[0])

    def line(self) -> Floats:
        """Places (n, 2) all along the loop, in the map."""
        turn = floats(np.linspace(0.0, 2 * np.pi, CORNERS))
        return np.column_stack(self._in_map(*self.route(aside=False).place(turn))[:2])

    def sun(self) -> Sun:
        """The light of its day."""
        return Sun(**self.own["sun"])

    def _in_map(self, x: Floats, y: Floats, heading: Floats) -> tuple[Floats, Floats, Floats]:
        first_x, first_y, first_heading = self.route(aside=False).place(floats([0.0]))
        east, north, towards = self.start_xy_heading
        angle = towards - first_heading[0]
        turn = rotation_about((0, 0, 1), angle)[:2, :2]
        places = turn @ np.stack([x - first_x[0], y - first_y[0]]) + [[east], [north]]
        return places[0], places[1], floats(heading + angle)
