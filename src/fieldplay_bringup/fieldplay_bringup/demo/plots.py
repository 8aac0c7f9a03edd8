"""The demo's plots: the map of the drive on its shaded ground, and the wheels."""

from collections.abc import Callable
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.colors import LightSource
from matplotlib.figure import Figure
from numpy.typing import NDArray

from fieldplay_bringup.demo.drive import DemoDrive, Series

Array = NDArray[np.float64]
Height = Callable[[Array, Array], Array]

TRUTH, INS, ODOMETRY = "#ffffff", "#56b4e9", "#e69f00"  # told apart by the colour-blind too
WHEEL_COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7")
WHEEL_NAMES = ("front left", "rear left", "rear right", "front right")
AROUND_M = 3.0
CELLS = 500
DPI = 150
STANDS_M_S = 0.03


def draw_map(drive: DemoDrive, height_m: Height, target: Path) -> None:
    """The ground shaded and with contour lines, the truth, the INS, and the wheels' odometry."""
    low, high = drive.truth.rows[:, :2].min(axis=0) - AROUND_M, drive.truth.rows[:, :2].max(axis=0) + AROUND_M
    middle, half = (low + high) / 2, float((high - low).max()) / 2
    x, y = (np.linspace(centre - half, centre + half, CELLS) for centre in middle)
    heights = height_m(*np.meshgrid(x, y))
    figure, axes = plt.subplots(figsize=(7.2, 7.2), layout="constrained")
    shade = LightSource(azdeg=315, altdeg=40).shade(
        heights, cmap=plt.get_cmap("copper"), vert_exag=2.0, blend_mode="soft", dx=x[1] - x[0], dy=y[1] - y[0]
    )
    axes.imshow(shade, extent=(x[0], x[-1], y[0], y[-1]), origin="lower", alpha=0.9)
    lines = axes.contour(x, y, heights, levels=12, colors="k", linewidths=0.4, alpha=0.5)
    axes.clabel(lines, fmt="%.1f m", fontsize=7)
    _draw_way(axes, drive.truth, TRUTH, 4.0, "truth")
    _draw_way(axes, drive.ins, INS, 1.6, "gnss/odom")
    _draw_way(axes, drive.wheels, ODOMETRY, 1.6, "wheels/odom")
    axes.plot(*drive.truth.rows[0, :2], "o", color="k", markerfacecolor="w", markersize=9, label="start")
    axes.plot(*drive.truth.rows[-1, :2], "s", color="k", markerfacecolor="w", markersize=9, label="end")
    axes.set(xlabel="east of the lander, m", ylabel="north of the lander, m", title="The drive, in map")
    axes.legend(loc="best", facecolor="#d8d0c8", framealpha=0.9)
    _save(figure, target)


def _draw_way(axes: Axes, way: Series, colour: str, width: float, label: str) -> None:
    axes.plot(way.rows[:, 0], way.rows[:, 1], color=colour, linewidth=width, label=label, solid_capstyle="round")


def draw_wheels(drive: DemoDrive, target: Path) -> None:
    """Steering, driving angle and rim speed over time: as measured, and as the body's motion would need them."""
    figure, panels = plt.subplots(4, 3, figsize=(12, 9), sharex=True, sharey="col", layout="constrained")
    measured, needed = measured_wheels(drive), needed_wheels(drive)
    for wheel in range(4):
        for column, label in enumerate(("steering, deg", "driven, turns", "rim speed, m/s")):
            axes = panels[wheel, column]
            for series, colour, width, name in (
                (needed[column], "#999999", 3.0, "needed (inverse kinematics)"),
                (measured[column], WHEEL_COLOURS[wheel], 1.2, "measured (encoders)"),
            ):
                time_s = series.time_s - drive.begin_s
                axes.plot(time_s, series.rows[:, wheel], color=colour, linewidth=width, label=name)
            axes.grid(alpha=0.3)
            axes.set_ylabel(label)
            axes.set_title(f"wheel {wheel + 1}, {WHEEL_NAMES[wheel]}", fontsize=10, loc="left")
    panels[0, 0].legend(fontsize=8)
    for axes in panels[-1]:
        axes.set_xlabel("time, s")
    _save(figure, target)


def measured_wheels(drive: DemoDrive) -> tuple[Series, Series, Series]:
    """Steering in degrees, turns since the start, and rim speeds in m/s of the wheels 1 to 4."""
    angles = drive.joints.rows
    steering = Series(drive.joints.time_s, np.degrees(angles[:, :4]))
    turns = Series(drive.joints.time_s, (angles[:, 4:] - angles[0, 4:]) / (2 * np.pi))
    return steering, turns, drive.speeds


def needed_wheels(drive: DemoDrive) -> tuple[Series, Series, Series]:
    """The same as the body's motion needs them; where it stands no steering is needed, and none is drawn."""
    time_s, angles, speeds = drive.expected.time_s, drive.expected.rows[:, :4], drive.expected.rows[:, 4:]
    stands = np.abs(speeds).max(axis=1, keepdims=True) < STANDS_M_S
    steps = np.diff(time_s, prepend=time_s[0])[:, None]
    rolled_m = np.cumsum(speeds * steps, axis=0)
    turned = np.abs(np.diff(drive.joints.rows[:, 4:], axis=0)).sum()
    radius_m = np.abs(np.diff(rolled_m, axis=0))[~stands[1:, 0]].sum() / turned  # the archive does not tell it
    steering = Series(time_s, np.where(stands, np.nan, np.degrees(angles)))
    return steering, Series(time_s, rolled_m / (2 * np.pi * radius_m)), Series(time_s, speeds)


def draw_errors(drive: DemoDrive, ins_m: Array, wheels_m: Array, target: Path) -> None:
    """How far from the truth, over time."""
    figure, axes = plt.subplots(figsize=(7.2, 2.8), layout="constrained")
    axes.plot(drive.ins.time_s - drive.begin_s, ins_m * 100, color="#0072b2", linewidth=1, label="gnss/odom")
    axes.plot(drive.wheels.time_s - drive.begin_s, wheels_m * 100, color=ODOMETRY, linewidth=1.4, label="wheels/odom")
    axes.set(xlabel="time, s", ylabel="from the truth, cm", title="Horizontal error")
    axes.grid(alpha=0.3)
    axes.legend()
    _save(figure, target)


def _save(figure: Figure, target: Path) -> None:
    figure.savefig(target, dpi=DPI)
    plt.close(figure)
