"""Samples, results of commands, and the drawing that the figures of gallery.py share."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from numpy.typing import NDArray

import fieldplay
from fieldplay.cli.main import main as run_command
from fieldplay.geometry.transforms import rotation_from_quaternion
from fieldplay_samples.write_sample import SampleOptions, write_sample

Floats = NDArray[np.float64]
MAXIMUM_BYTES = 60_000
DPI = 100


class Sources:
    """Samples and results below a folder, each made once."""

    def __init__(self, work: Path) -> None:
        """`work` is the folder; what is there already is used again."""
        self.work = work
        work.mkdir(parents=True, exist_ok=True)

    def sample(self, dataset: str, *, seconds: float, settings: Mapping[str, Any] | None = None) -> Path:
        """A synthetic archive, seed 1."""
        name = "_".join([dataset, f"{seconds:g}", *(str(value) for value in (settings or {}).values())])
        options = SampleOptions(seconds=seconds, seed=1, settings=dict(settings or {}))
        return write_sample(dataset, self.work / name, options).path

    def command(self, name: str, *arguments: object, options: Sequence[object] = ()) -> Path:
        """What a command of fieldplay writes to the folder `name`, which follows its first arguments."""
        out = self.work / name
        if not out.exists():
            head, *tail = map(str, arguments)
            positional = next((index for index, text in enumerate(tail) if text.startswith("-")), len(tail))
            code = run_command([head, *tail[:positional], str(out), *tail[positional:], *map(str, options)])
            if code != 0:
                raise SystemExit(f"{name}: fieldplay {head} ended with {code}")
        return out


def axes_of_row(count: int, widths: Sequence[float] | None = None, height: float = 3.4) -> tuple[Any, Any]:
    """A figure 10 inches wide with axes side by side."""
    return plt.subplots(1, count, figsize=(10, height), layout="constrained", width_ratios=widths)


def draw_image(axes: Any, image: NDArray[Any], title: str) -> None:
    """A colour (BGR) or grey image without ticks."""
    axes.imshow(image[..., ::-1] if image.ndim == 3 else image, cmap="gray")
    axes.set(title=title, xticks=[], yticks=[])


def draw_points(axes: Any, points: NDArray[Any], *, limit_m: float, title: str) -> None:
    """A cloud from above within a distance, coloured by height."""
    near = np.hypot(points["x"], points["y"]) < limit_m
    x, y, z = (points[name][near] for name in "xyz")
    low, high = np.percentile(z, [2, 98])
    axes.scatter(x, y, c=z, s=0.4, cmap="viridis", vmin=low, vmax=high, linewidths=0)
    axes.set(title=title, xlabel="x, m", aspect="equal")


def draw_path(axes: Any, positions: Floats, label: str, **style: Any) -> None:
    """Positions (n, 3) seen from above."""
    axes.plot(positions[:, 0], positions[:, 1], label=label, lw=1.3, **style)
    axes.set(xlabel="x, m", ylabel="y, m")
    equal_axes(axes)


def equal_axes(axes: Any) -> None:
    """Equal scales that fill the axes, and a legend above them."""
    axes.set_aspect("equal", adjustable="datalim")
    axes.legend(fontsize=8, loc="lower center", bbox_to_anchor=(0.5, 1.0), frameon=False, ncols=2)


def local_positions(data: "fieldplay.Recording", topic: str, reference: str) -> Floats:
    """Positions (n, 3) of an odometry, moved so that its first pose is that of another one, heading included."""
    moved, fixed = data.records(topic), data.records(reference)
    first = int(np.searchsorted(fixed["stamp_ns"], moved["stamp_ns"][0]))
    first = min(first, len(fixed["stamp_ns"]) - 1)
    turn = heading(fixed["orientation_xyzw"][first]) - heading(moved["orientation_xyzw"][0])
    cosine, sine = np.cos(turn), np.sin(turn)
    offset = moved["position_m"] - moved["position_m"][0]
    turned = np.column_stack([cosine * offset[:, 0] - sine * offset[:, 1], sine * offset[:, 0] + cosine * offset[:, 1]])
    return np.column_stack([turned + fixed["position_m"][first, :2], offset[:, 2]])


def fitted_positions(data: "fieldplay.Recording", topic: str, reference: str) -> Floats:
    """Positions (n, 3) of an odometry, moved and turned in the plane so that they fit another one best."""
    moved, fixed = data.records(topic), data.records(reference)
    seconds = moved["stamp_ns"] - fixed["stamp_ns"][0]
    target = np.column_stack(
        [np.interp(seconds, fixed["stamp_ns"] - fixed["stamp_ns"][0], fixed["position_m"][:, axis]) for axis in (0, 1)]
    )
    source = moved["position_m"][:, :2]
    first, second = (source - source.mean(axis=0)) @ [1, 1j], (target - target.mean(axis=0)) @ [1, 1j]
    turn = np.vdot(first, second)
    turned = first * turn / abs(turn)
    return np.add(np.column_stack([turned.real, turned.imag, 0 * turned.real]), [*target.mean(axis=0), 0.0])


def heading(orientation_xyzw: Floats) -> float:
    """The yaw of an orientation, rad."""
    rotation = rotation_from_quaternion(orientation_xyzw)
    return float(np.arctan2(rotation[1, 0], rotation[0, 0]))


def save(figure: Any, path: Path) -> None:
    """Write a figure as WebP of at most 60 kB, with the best quality that allows."""
    from PIL import Image

    path.parent.mkdir(parents=True, exist_ok=True)
    figure.canvas.draw()
    pixels = np.asarray(figure.canvas.buffer_rgba())[..., :3]
    image = Image.fromarray(pixels)
    for quality in range(85, 20, -5):
        image.save(path, "WEBP", quality=quality, method=6)
        if path.stat().st_size <= MAXIMUM_BYTES:
            break
    plt.close(figure)
