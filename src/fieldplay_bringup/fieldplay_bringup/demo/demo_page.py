"""The demo's page: the images of the sample with figures against the truth, then the report of its bag."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import LightSource
from matplotlib.figure import Figure
from numpy.typing import NDArray
from rosbags.highlevel import AnyReader
from rosbags.typesys import Stores, get_typestore

from fieldplay.core.progress import Progress
from fieldplay.geometry.frames import Frames
from fieldplay.messages.image_pixels import pixels_from_compressed
from fieldplay.messages.point_clouds import points_from_cloud
from fieldplay.messages.record_decoder import camera_of_info
from fieldplay.projection.frames_in_image import (
    FramesInImage,
    camera_of_drawing,
    draw_axes,
    frames_in_image,
    merge_overlapping,
)
from fieldplay.projection.relief import plane_of_points, relief_of_points
from fieldplay.recording.bag_recording import BagRecording
from fieldplay.report.figures import limit_width, photo
from fieldplay.report.page import Html, Section, join, page_of_sections, plain_table, render, write_page
from fieldplay.report.report_page import head_of, read_recording, sections_of
from fieldplay_bringup.demo.received import ReceivedTopic

Array = NDArray[np.float64]
WHEELS = tuple(f"{kind}_{wheel}" for kind in ("steer", "drive") for wheel in (1, 2, 3, 4))
NS_PER_S = 1_000_000_000
MAX_POINTS = 40_000  # of each sweep
AROUND_M = 22.0
PAPER = 250
FONT = cv2.FONT_HERSHEY_SIMPLEX
Pixels = NDArray[np.uint8]
TITLE = "ESA's rover Interact on a synthetic Etna"
WIDEST = 1100
CAPTIONS = {
    "map.png": "The drive on its ground: the truth, what the INS measured, what the wheels report.",
    "errors.png": "How far the INS and the wheels' odometry are from the truth, on the level.",
    "wheels.png": "Steering, driving angle and rim speed of each wheel: measured, and needed for the body's motion.",
    "clouds.png": "All sweeps of the lidar in map, from above, coloured by height; the path of the lidar in orange.",
    "main_cam.png": "The main camera with the frames that it sees, from the arms' joints and the paper's tables.",
    "aux_cam.png": "The auxiliary camera, at the end of the front arm.",
}
Figures = list[tuple[str, str]]


# What the demo draws and measures: the drive as the bag has it beside the truth of the sample.


@dataclass(frozen=True, eq=False)
class Series:
    """Rows (n, k) at times (n,) in seconds of the clock of the archive."""

    time_s: Array
    rows: Array


@dataclass(frozen=True, eq=False, kw_only=True)
class DemoDrive:
    """Positions x y z in the map, and angles and speeds of the wheels (steer_1..4 in rad, drive_1..4)."""

    truth: Series
    ins: Series
    wheels: Series
    joints: Series
    speeds: Series
    expected: Series

    @property
    def start_s(self) -> float:
        return float(self.truth.time_s[0])


def drive_of_bag(bag: Path, truth: Path, namespace: str = "/ameds") -> DemoDrive:
    """Read both."""
    samples: dict[str, list[tuple[float, list[float]]]] = {}
    rows = {
        "gnss/odom": lambda m: _position(m.pose.pose.position),
        "wheels/odom": lambda m: _position(m.pose.pose.position),
        "platform/joint_states": lambda m: _select(m.name, m.position, WHEELS),
        "platform/wheel_speeds": lambda m: _select(m.name, m.velocity, WHEELS[4:]),
        "wheels/expected": lambda m: [
            *_select(m.name, m.position, WHEELS[:4]),
            *_select(m.name, m.velocity, WHEELS[4:]),
        ],
    }
    with AnyReader([bag], default_typestore=get_typestore(Stores.ROS2_JAZZY)) as reader:
        requested = {f"{namespace}/{name}": name for name in rows}
        for link, _, raw in reader.messages([link for link in reader.connections if link.topic in requested]):
            message: Any = reader.deserialize(raw, link.msgtype)
            stamp = message.header.stamp
            name = requested[link.topic]
            samples.setdefault(name, []).append((stamp.sec + stamp.nanosec * 1e-9, rows[name](message)))
        odom = _odom_in_map(reader)
    series = {
        name: Series(np.array([t for t, _ in got]), np.array([row for _, row in got])) for name, got in samples.items()
    }
    wheels = series["wheels/odom"]
    positions = wheels.rows @ odom[:3, :3].T + odom[:3, 3]
    return DemoDrive(
        truth=_truth(truth),
        ins=series["gnss/odom"],
        wheels=Series(wheels.time_s, positions),
        joints=series["platform/joint_states"],
        speeds=series["platform/wheel_speeds"],
        expected=series["wheels/expected"],
    )


def _position(point: Any) -> list[float]:
    return [point.x, point.y, point.z]


def _select(names: Sequence[str], values: Sequence[float], requested: Sequence[str]) -> list[float]:
    positions = list(names)
    return [float(values[positions.index(name)]) for name in requested]


def _odom_in_map(reader: AnyReader) -> Array:
    """map_T_odom (4, 4) of the static tree."""
    links = [link for link in reader.connections if link.topic == "/tf_static"]
    for link, _, raw in reader.messages(links):
        message: Any = reader.deserialize(raw, link.msgtype)
        for transform in message.transforms:
            if transform.child_frame_id == "odom":
                return _matrix(transform.transform)
    return np.eye(4)


def _matrix(transform: Any) -> Array:
    """(4, 4) of a level transform."""
    turn = 2 * np.arctan2(transform.rotation.z, transform.rotation.w)
    matrix = np.eye(4)
    matrix[:2, :2] = [[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]]
    matrix[:3, 3] = _position(transform.translation)
    return matrix


def _truth(path: Path) -> Series:
    with path.open() as lines:
        names = lines.readline().strip().split(",")
        columns = dict(zip(names, np.loadtxt(lines, delimiter=",", ndmin=2).T, strict=True))
    return Series(columns["stamp_ns"] * 1e-9, np.stack([columns[f"{axis}_m"] for axis in "xyz"], axis=1))


def errors_m(series: Series, truth: Series, axes: int) -> Array:
    """Distances (n,) from the truth at the same times, in the first so many axes."""
    there = np.stack([np.interp(series.time_s, truth.time_s, truth.rows[:, axis]) for axis in range(axes)], axis=1)
    return np.asarray(np.linalg.norm(series.rows[:, :axes] - there, axis=1))


def length_m(positions: Array) -> float:
    """How long a way through positions (n, k) is."""
    return float(np.linalg.norm(np.diff(positions, axis=0), axis=1).sum())


# The demo's plots: the map of the drive on its shaded ground, and the wheels.


Height = Callable[[Array, Array], Array]
TRUTH, INS, ODOMETRY = "#ffffff", "#56b4e9", "#e69f00"  # distinguished by the colour-blind too
WHEEL_COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7")
WHEEL_NAMES = ("front left", "rear left", "rear right", "front right")
PLOT_AROUND_M = 3.0
CELLS = 500
DPI = 150
STANDS_M_S = 0.03


def draw_map(drive: DemoDrive, height_m: Height, target: Path) -> None:
    """The ground shaded and with contour lines, the truth, the INS, and the wheels' odometry."""
    low, high = drive.truth.rows[:, :2].min(axis=0) - PLOT_AROUND_M, drive.truth.rows[:, :2].max(axis=0) + PLOT_AROUND_M
    middle, half = (low + high) / 2, float((high - low).max()) / 2
    x, y = (np.linspace(centre - half, centre + half, CELLS) for centre in middle)
    heights = height_m(*np.meshgrid(x, y))
    figure = Figure(figsize=(7.2, 7.2), layout="constrained")
    axes = figure.subplots()
    shade = LightSource(azdeg=315, altdeg=40).shade(
        heights, cmap=colormaps["copper"], vert_exag=2.0, blend_mode="soft", dx=x[1] - x[0], dy=y[1] - y[0]
    )
    axes.imshow(shade, extent=(x[0], x[-1], y[0], y[-1]), origin="lower", alpha=0.9)
    lines = axes.contour(x, y, heights, levels=12, colors="k", linewidths=0.4, alpha=0.5)
    axes.clabel(lines, fmt="%.1f m", fontsize=7)
    _draw_trajectory(axes, drive.truth, TRUTH, 4.0, "truth")
    _draw_trajectory(axes, drive.ins, INS, 1.6, "gnss/odom")
    _draw_trajectory(axes, drive.wheels, ODOMETRY, 1.6, "wheels/odom")
    axes.plot(*drive.truth.rows[0, :2], "o", color="k", markerfacecolor="w", markersize=9, label="start")
    axes.plot(*drive.truth.rows[-1, :2], "s", color="k", markerfacecolor="w", markersize=9, label="end")
    axes.set(xlabel="east of the lander, m", ylabel="north of the lander, m", title="The drive, in map")
    axes.legend(loc="best", facecolor="#d8d0c8", framealpha=0.9)
    _save(figure, target)


def _draw_trajectory(axes: Axes, trajectory: Series, colour: str, width: float, label: str) -> None:
    axes.plot(
        trajectory.rows[:, 0], trajectory.rows[:, 1], color=colour, linewidth=width, label=label, solid_capstyle="round"
    )


def draw_wheels(drive: DemoDrive, target: Path) -> None:
    """Steering, driving angle and rim speed over time: as measured, and as the body's motion would need them."""
    figure = Figure(figsize=(12, 9), layout="constrained")
    panels = figure.subplots(4, 3, sharex=True, sharey="col")
    measured, needed = measured_wheels(drive), needed_wheels(drive)
    for wheel in range(4):
        for column, label in enumerate(("steering, deg", "driven, turns", "rim speed, m/s")):
            axes = panels[wheel, column]
            for series, colour, width, name in (
                (needed[column], "#999999", 3.0, "needed (inverse kinematics)"),
                (measured[column], WHEEL_COLOURS[wheel], 1.2, "measured (encoders)"),
            ):
                time_s = series.time_s - drive.start_s
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
    radius_m = np.abs(np.diff(rolled_m, axis=0))[~stands[1:, 0]].sum() / turned  # the archive does not have it
    steering = Series(time_s, np.where(stands, np.nan, np.degrees(angles)))
    return steering, Series(time_s, rolled_m / (2 * np.pi * radius_m)), Series(time_s, speeds)


def draw_errors(drive: DemoDrive, ins_m: Array, wheels_m: Array, target: Path) -> None:
    """How far from the truth, over time."""
    figure = Figure(figsize=(7.2, 2.8), layout="constrained")
    axes = figure.subplots()
    axes.plot(drive.ins.time_s - drive.start_s, ins_m * 100, color="#0072b2", linewidth=1, label="gnss/odom")
    axes.plot(drive.wheels.time_s - drive.start_s, wheels_m * 100, color=ODOMETRY, linewidth=1.4, label="wheels/odom")
    axes.set(xlabel="time, s", ylabel="from the truth, cm", title="Horizontal error")
    axes.grid(alpha=0.3)
    axes.legend()
    _save(figure, target)


def _save(figure: Figure, target: Path) -> None:
    figure.savefig(target, dpi=DPI)


# The demo's views: images of the cameras with the frames before them drawn in, and the clouds from above.


class BagViews:
    """Single messages of a bag, drawn."""

    def __init__(self, bag: Path, frames: Frames) -> None:
        self._reader = AnyReader([bag], default_typestore=get_typestore(Stores.ROS2_JAZZY))
        self._frames = frames

    def __enter__(self) -> "BagViews":
        self._reader.open()
        return self

    def __exit__(self, *_: object) -> None:
        self._reader.close()

    def draw_camera(self, camera: str, target: Path) -> None:
        """The middle one of a camera's images, with the frames that it sees."""
        images = self._messages(f"{camera}/image_raw/compressed")
        message, info = images[len(images) // 2], self._messages(f"{camera}/camera_info")[0]
        pixels = pixels_from_compressed(message).copy()
        intrinsics = camera_of_drawing(camera_of_info(info), is_rectified=False)
        seen = frames_in_image(intrinsics, message.header.frame_id, frames=self._frames, stamp_ns=_time_ns(message))
        if seen is not None:
            _draw_frames(pixels, seen)
        cv2.imwrite(str(target), pixels)

    def draw_clouds(self, topic: str, target: Path) -> None:
        """All sweeps in the map from above, coloured by height."""
        clouds, positions = [], []
        for message in self._messages(topic):
            transform = self._frames.transform("map", message.header.frame_id, np.array([_time_ns(message)], np.int64))
            if transform is not None and transform[1][0]:
                points = points_from_cloud(message)
                turned = (
                    points[:: -(-len(points) // MAX_POINTS) or 1] @ transform[0][0, :3, :3].T + transform[0][0, :3, 3]
                )
                clouds.append(turned.astype(np.float64))
                positions.append(transform[0][0, :2, 3])
        middle = np.mean(positions, axis=0)
        plane = plane_of_points(np.stack([middle - AROUND_M, middle + AROUND_M]), room=0.0)
        relief = relief_of_points(np.concatenate(clouds), plane)
        if relief is None:
            raise ValueError(f"{topic}: expected points near the robot's path, got none")
        pixels = _on_paper(relief.pixels)
        scale = pixels.shape[1] / plane.width
        path = (np.array(positions) - [plane.x_low, plane.y_high]) * [scale, -scale]
        cv2.polylines(pixels, [np.rint(path * 16).astype(np.int32)], False, (0, 90, 255), 3, cv2.LINE_AA, 4)
        cv2.imwrite(str(target), pixels)

    def _messages(self, topic: str) -> list[Any]:
        links = [link for link in self._reader.connections if link.topic == f"/ameds/{topic}"]
        return [self._reader.deserialize(raw, link.msgtype) for link, _, raw in self._reader.messages(links)]


def _time_ns(message: Any) -> int:
    return int(message.header.stamp.sec) * NS_PER_S + int(message.header.stamp.nanosec)


def _on_paper(pixels: Pixels) -> Pixels:
    """An image with transparency (h, w, 4) on a light ground (h, w, 3)."""
    fraction = pixels[..., 3:].astype(np.float64) / 255
    return np.asarray(pixels[..., :3] * fraction + PAPER * (1 - fraction), np.uint8)


def _draw_frames(pixels: Pixels, seen: FramesInImage) -> None:
    """The axes of each frame, and a name for all that stand at one place."""
    height, width = pixels.shape[:2]
    draw_axes(pixels, seen)
    for row, text in merge_overlapping(seen):
        x, y = np.rint(seen.origins[row] * [width, height]).astype(int).tolist()
        for colour, weight in (((0, 0, 0), 4 * width // 480), ((255, 255, 255), max(1, width // 960))):
            cv2.putText(pixels, text, (x + 8, y - 8), FONT, width / 2400, colour, weight, cv2.LINE_AA)


def write_images(folder: Path, bag: Path, truth: Path, height_m: Height, progress: Progress) -> tuple[Path, Figures]:
    """Draw everything into a folder; the page, and what was measured: names with values."""
    drive = drive_of_bag(bag, truth)
    ins_m, wheels_m = errors_m(drive.ins, drive.truth, 2), errors_m(drive.wheels, drive.truth, 2)
    draw_map(drive, height_m, folder / "map.png")
    draw_errors(drive, ins_m, wheels_m, folder / "errors.png")
    draw_wheels(drive, folder / "wheels.png")
    overview, panels = read_recording(BagRecording(bag), progress)
    with BagViews(bag, overview.frames) as views:
        views.draw_clouds("lidar/points", folder / "clouds.png")
        for camera in ("main_cam", "aux_cam"):
            views.draw_camera(camera, folder / f"{camera}.png")
    driven_m = length_m(drive.truth.rows)
    figures = [
        ("the driven path", f"{driven_m:.2f} m"),
        ("gnss/odom from the truth, median", f"{np.median(ins_m) * 100:.1f} cm"),
        ("gnss/odom from the truth, at most", f"{ins_m.max() * 100:.1f} cm"),
        (
            "wheels/odom from the truth, at the end",
            f"{wheels_m[-1] * 100:.1f} cm ({wheels_m[-1] / driven_m:.1%})",
        ),
    ]
    sections = [_image_section(folder, figures), *sections_of(overview, panels)]
    overview.subject = replace(overview.subject, title=TITLE, name="the demo")
    page = folder / "index.html"
    write_page(page, page_of_sections("The demo · fieldplay", head_of(overview), sections))
    return page, figures


def _image_section(folder: Path, figures: Figures) -> Section:
    table = plain_table(("against the truth", "measured"), figures)
    shown = [_figure(folder / name, caption) for name, caption in CAPTIONS.items()]
    lead = "A sample of AMEDS from a synthetic world, with known truth. Everything is drawn from the bag."
    return Section("demo", "The sample and its truth", join([table, render("cards", shown, "wide")]), lead)


def _figure(path: Path, caption: str) -> Html:
    pixels = cv2.imread(str(path))
    if pixels is None:
        raise ValueError(f"{path}: expected an image, got none that can be read")
    image = photo(limit_width(np.asarray(pixels, np.uint8), WIDEST), alternative=caption)
    return render("figure", render("photo", image), caption)


def received_text(received: dict[str, ReceivedTopic]) -> str:
    """Summarise what was received in one line."""
    count = sum(len(one.digests) for one in received.values())
    return f"{count} messages on {len(received)} topics"
