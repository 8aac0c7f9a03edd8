"""The figures of docs/gallery.md: one for each dataset and for each fusion pipeline, drawn from samples.

Usage: ./ws exec python bench/gallery.py [--work DIR] [--only NAME ...]

Samples and the results of pipelines are kept in DIR and used again. Figures go to docs/images/ as WebP.
"""

import argparse
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

from gallery_pipelines import FIGURES as PIPELINES
from gallery_sources import (
    Sources,
    axes_of_row,
    draw_image,
    draw_path,
    draw_points,
    fitted_positions,
    local_positions,
    save,
)

import fieldplay

OUT = Path(__file__).parents[1] / "docs" / "images"


def ameds(sources: Sources) -> Any:
    """Main camera, a sweep from above, and the wheels' odometry against the INS."""
    with fieldplay.open(sources.sample("ameds", seconds=20), derived=True) as data:
        figure, (camera, sweep, plane) = axes_of_row(3, widths=(1.6, 1, 1))
        draw_image(camera, next(image for _, image in data.images("main_cam/image_raw", start=10)), "main_cam")
        cloud = next(points for _, points in data.clouds("lidar/points", start=10))
        draw_points(sweep, cloud, limit_m=25, title="lidar/points, height")
        draw_path(plane, data.records("gnss/odom")["position_m"], "gnss/odom")
        draw_path(plane, local_positions(data, "wheels/odom", "gnss/odom"), "wheels/odom")
    return figure


def rosario(sources: Sources) -> Any:
    """Left image, right image, and the odometry against the ground truth, both from their start."""
    with fieldplay.open(sources.sample("rosario", seconds=20), derived=True) as data:
        figure, (left, right, plane) = axes_of_row(3, widths=(1.4, 1.4, 1))
        for axes, side in ((left, "left"), (right, "right")):
            name = f"stereo/{side}/image_raw"
            draw_image(axes, next(image for _, image in data.images(name, start=10)), name)
        truth = data.records("ground_truth/odom")["position_m"]
        draw_path(plane, truth - truth[0], "ground_truth/odom (antenna)")
        draw_path(plane, data.records("rosario/odom")["position_m"], "odom (rear axle)")
    return figure


def acfr(sources: Sources) -> Any:
    """Camera, and a laser in dust: which returns scan_filtered keeps, with the radar's."""
    settings = {"static": True, "condition": "dust"}
    with fieldplay.open(sources.sample("acfr", seconds=14, settings=settings), derived=True) as data:
        figure, (camera, plane) = axes_of_row(2, widths=(1.2, 1.6), height=3.8)
        draw_image(camera, next(image for _, image in data.images("visual_camera/image_raw", start=8)), "visual_camera")
        draw_returns(plane, data, start=8.0)
    return figure


def draw_returns(axes: Any, data: "fieldplay.Recording", start: float) -> None:
    """The returns of four lines of a laser that scan_filtered keeps and removes, and the radar's, from above."""
    scan = data.records("laser_horizontal/scan", start=start, duration=0.053)
    kept = data.records("laser_horizontal/scan_filtered", start=start, duration=0.053)["ranges_m"]
    steps = np.arange(scan["ranges_m"].shape[1])
    angles = scan["angle_min_rad"][:, None] + steps * scan["angle_increment_rad"][:, None]
    removed = np.where(np.isfinite(kept), np.nan, scan["ranges_m"])
    for ranges, label, color in ((kept, "kept", "#4477aa"), (removed, "removed", "#ee7733")):
        right, forward = -ranges * np.sin(angles), ranges * np.cos(angles)
        axes.plot(right.ravel(), forward.ravel(), ".", ms=4, color=color, label=label)
    base_t_radar = next(edge.parent_t_child for edge in data.tf_static if edge.child == "radar")
    cloud = next(points for _, points in data.clouds("radar/points", start=start))
    points = np.column_stack([cloud[name] for name in "xyz"]) @ base_t_radar[:3, :3].T + base_t_radar[:3, 3]
    axes.plot(-points[:, 1], points[:, 0], "k+", ms=6, label="radar")
    axes.set(title="laser_horizontal/scan and radar/points", xlabel="right, m", ylabel="forward, m")
    axes.set(xlim=(-14, 14), ylim=(0, 16), box_aspect=16 / 28)
    axes.legend(fontsize=8, loc="upper right")


def ida(sources: Sources) -> Any:
    """Joint angles, the tool's position and the forces of the last sol with motion."""
    with fieldplay.open(sources.sample("ida", seconds=20)) as data:
        figure, (joints, tool, force) = axes_of_row(3)
        records = {name: data.records(name) for name in ("ida/joint_states", "archived/tool_enc", "ida/wrench")}
        start_ns = records["ida/joint_states"]["stamp_ns"][-1] - 20_000_000_000
        for axes, name, column, labels, title in (
            (joints, "ida/joint_states", "position", None, "joint_states, rad"),
            (tool, "archived/tool_enc", "position_m", "xyz", "archived/tool_enc, m"),
            (force, "ida/wrench", "force_n", ("radial", "tangential", "down"), "wrench, N"),
        ):
            record = records[name]
            rows = record["stamp_ns"] >= start_ns
            seconds = (record["stamp_ns"][rows] - start_ns) / 1e9
            for index, label in enumerate(labels if labels is not None else record["names"]):
                axes.plot(seconds, record[column][rows][:, index], label=label, lw=1)
            axes.set(title=title, xlabel="s")
            axes.legend(fontsize=7)
    return figure


def sherpatt(sources: Sources) -> Any:
    """Left image, depth image, and the wheels' odometry against the satellites."""
    with fieldplay.open(sources.sample("sherpatt", seconds=20)) as data:
        figure, (left, cloud, plane) = axes_of_row(3, widths=(1.2, 1, 1))
        draw_image(left, next(image for _, image in data.images("stereo/left/image_raw", start=10)), "stereo/left")
        points = next(points for _, points in data.clouds("velodyne/points", start=10))
        draw_points(cloud, points, limit_m=15, title="velodyne/points, height")
        draw_path(plane, fitted_positions(data, "dgps/odom", "wheel_odom"), "dgps/odom (fitted)")
        draw_path(plane, data.records("wheel_odom")["position_m"], "wheel_odom")
    return figure


def euroc(sources: Sources) -> Any:
    """Left and right image of a stereo camera with the geometry of EuRoC's."""
    with fieldplay.open(sources.sample("stereo", seconds=2, settings={"preset": "euroc"})) as data:
        figure, rows = axes_of_row(2)
        for axes, name in zip(rows, [topic for topic in data.topics if "image" in topic], strict=True):
            draw_image(axes, next(image for _, image in data.images(name, start=1)), name)
            for row in range(60, 480, 60):
                axes.axhline(row, color="#ee7733", lw=0.5)
    return figure


def kitti(sources: Sources) -> Any:
    """A scan and the poses of a sequence that was exported from a sample of AMEDS."""
    archive = sources.command("kitti", "export", sources.sample("ameds", seconds=20), "--format", "kitti")
    with fieldplay.open(archive) as data:
        figure, (cloud, plane) = axes_of_row(2)
        points = next(points for _, points in data.clouds("lidar/points", start=10))
        draw_points(cloud, points, limit_m=25, title="lidar/points, height")
        draw_path(plane, data.records("ground_truth/odom")["position_m"], "ground_truth/odom")
    return figure


FIGURES: Sequence[Callable[[Sources], Any]] = (ameds, rosario, acfr, ida, sherpatt, euroc, kitti, *PIPELINES)


def main() -> None:
    """Draw the figures that are named, or all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, help="folder of samples and results; a temporary one by default")
    parser.add_argument("--only", nargs="*", default=[], help="names of figures")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        sources = Sources(options.work or Path(temporary))
        for make in FIGURES:
            name = make.__name__
            if not options.only or name in options.only:
                path = OUT / f"{name.replace('_', '-')}.webp"
                save(make(sources), path)
                print(f"{path.name}: {path.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
