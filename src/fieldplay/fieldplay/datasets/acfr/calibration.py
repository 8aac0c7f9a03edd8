"""The cameras' intrinsics: the report's or those of a Calib_Results.m, and what a clipped picture makes of them."""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

from fieldplay.core.errors import ArchiveError, Defect, UsageError
from fieldplay.datasets.archive import Archive
from fieldplay.io.containers import Files
from fieldplay.messages.stream_spec import Camera

VISUAL, IR = "visual_camera", "ir_camera"
RESULTS = "calibration_results"
RESULTS_BESIDE = Path("Calibration", "Calib_Results.m")
CLIPPED = (511, 398)
CLIPS, UNKNOWN = ("ir_clip_x_px", "ir_clip_y_px"), -1
NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eEdD][-+]?\d+)?"
ASSIGNED = re.compile(
    rf"^[ \t]*(\w+)[ \t]*=[ \t]*(?:\[([^\]\n]*)\]|({NUMBER}))[ \t]*;?[ \t]*(?:%.*)?\r?$", re.MULTILINE
)
PARTED = re.compile(r"[\s;,]+")
LENGTHS = {"fc": (2,), "cc": (2,), "kc": (4, 5), "alpha_c": (1,), "nx": (1,), "ny": (1,)}
ROUNDED_PX = 1.0  # by which a scaled picture's side may differ from the camera's shape
COEFFICIENTS = 5  # k1 k2 p1 p2 k3, in the toolbox as in OpenCV

Size = tuple[int, int]


def numbers_from_matlab(text: str) -> dict[str, tuple[float, ...]]:
    """The numbers that a file of Bouguet's toolbox assigns to the names of LENGTHS; nothing of it is run."""
    found = {}
    for name, several, one in ASSIGNED.findall(text):
        if name not in LENGTHS:
            continue
        words = [word for word in PARTED.split(several or one) if word]
        if not all(re.fullmatch(NUMBER, word) for word in words) or len(words) not in LENGTHS[name]:
            expected = " or ".join(map(str, LENGTHS[name]))
            raise ArchiveError(f"{name}: expected numbers, {expected} of them, got '{(several or one)[:40]}'")
        found[name] = tuple(float(re.sub("[dD]", "e", word)) for word in words)
    missing = [name for name in LENGTHS if name not in found and name != "alpha_c"]
    if missing:
        raise ArchiveError(f"expected numbers for {', '.join(missing)}, got none")
    return found


def camera_from_matlab(text: str, source: str) -> tuple[Camera, float]:
    """The camera of a Calib_Results.m, whose pixels are counted from 0 as here, and its skew (alpha_c)."""
    numbers = numbers_from_matlab(text)
    (fx, fy), (cx, cy), (width,), (height,) = (numbers[name] for name in ("fc", "cc", "nx", "ny"))
    if min(fx, fy, width, height) <= 0:
        raise ArchiveError(f"expected focal lengths and a size above 0, got {fx:g}, {fy:g}, {width:g} x {height:g}")
    distortion = (*numbers["kc"], 0.0)[:COEFFICIENTS]
    camera = Camera(
        width=int(width), height=int(height), fx=fx, fy=fy, cx=cx, cy=cy, distortion_model="plumb_bob",
        distortion=distortion, source=source,
    )  # fmt: skip
    return camera, numbers.get("alpha_c", (0.0,))[0]


def cameras_as_wanted(archive: Archive, files: Files, sizes: Mapping[str, Size]) -> dict[str, Camera]:
    """The cameras by their names: of the archive's Calib_Results.m, or one in a set beside it, else of the report.

    `sizes` are those of the archive's own pictures.
    """
    cameras = dict(archive.spec.cameras)
    if archive.parameters["intrinsics_from"] == "report":
        return cameras
    wanted = archive.spec.rows[RESULTS]
    own: dict[str, Callable[[], bytes]] = {
        name: partial(files.read, name) for name in files.matching(wanted.files, wanted.folder)
    }
    beside: dict[str, Callable[[], bytes]] = {str(path): path.read_bytes for path in _results_beside(archive)}
    for name, read in {**beside, **own}.items():
        try:
            camera, skew = camera_from_matlab(read().decode("latin-1"), name)
            key = _name_of(camera, archive.spec.cameras, sizes)
        except (ArchiveError, OSError) as error:
            message = f"{error}; the report's numbers are taken"
            archive.defects(Defect(file=name, kind="bad_calibration", message=message))
            continue
        cameras[key] = camera
        _note_intrinsics(archive, key, camera, skew=skew)
    return cameras


def _results_beside(archive: Archive) -> list[Path]:
    """Calib_Results.m of the calibration sets that lie in the same folder as the archive."""
    root = archive.root.resolve()
    sets = [root.parent / name for name in archive.spec.constants["calibration_sets"]]
    return [path / RESULTS_BESIDE for path in sets if path != root and (path / RESULTS_BESIDE).is_file()]


def _name_of(camera: Camera, known: Mapping[str, Camera], sizes: Mapping[str, Size]) -> str:
    """The camera that a size tells: the report's, else that of the pictures of one of them."""
    size = (camera.width, camera.height)
    reported = {name: (other.width, other.height) for name, other in known.items()}
    found = [name for name, other in reported.items() if other == size]
    found = found or [name for name, other in sizes.items() if other == size]
    if len(found) != 1:
        expected = " or ".join(dict.fromkeys(_shown(size) for size in [*reported.values(), *sizes.values()]))
        raise ArchiveError(f"nx, ny: expected {expected}, of one camera, got {_shown(size)}")
    return found[0]


def _shown(size: Size) -> str:
    return f"{size[0]} x {size[1]}"


def _note_intrinsics(archive: Archive, name: str, camera: Camera, *, skew: float) -> None:
    reported = archive.spec.cameras[name]
    apart = max(abs(getattr(camera, key) - getattr(reported, key)) for key in ("fx", "fy", "cx", "cy"))
    text = f"{name}: intrinsics of {camera.source}, at most {apart:.3g} pixels from the report's"
    archive.notes.append(text)
    if skew:
        archive.notes.append(f"warning: {name}: alpha_c is {skew:g}, and CameraInfo has no place for it: left out")


def fitted_camera(archive: Archive, name: str, camera: Camera, size: Size) -> Camera | None:
    """The camera for pictures of a size (width, height), clipped or scaled ones; None for those of another shape."""
    own = (camera.width, camera.height)
    if own == size:
        return camera
    if name == IR and size == CLIPPED:
        left, top = _clip(archive, camera)
        return replace(camera, width=size[0], height=size[1], cx=camera.cx - left, cy=camera.cy - top)
    across, down = size[0] / own[0], size[1] / own[1]
    if abs(own[1] * across - size[1]) > ROUNDED_PX and abs(own[0] * down - size[0]) > ROUNDED_PX:
        return None
    archive.notes.append(
        f"warning: {name}: pictures of {_shown(size)} have the shape of the {_shown(own)} that its numbers are for: "
        "these are scaled"
    )
    return replace(  # the outer edges of the pictures meet, not the centres of their first pixels
        camera, width=size[0], height=size[1], fx=camera.fx * across, fy=camera.fy * down,
        cx=(camera.cx + 0.5) * across - 0.5, cy=(camera.cy + 0.5) * down - 0.5,
    )  # fmt: skip


def _clip(archive: Archive, camera: Camera) -> tuple[int, int]:
    """Columns and rows that are missing at the left and the top, by the parameters or as if it were the middle."""
    left, top = (
        _chosen_clip(archive, name, whole - kept)
        for name, whole, kept in zip(CLIPS, (camera.width, camera.height), CLIPPED, strict=True)
    )
    if UNKNOWN in (archive.parameters[name] for name in CLIPS):
        archive.notes.append(
            f"warning: ir_camera: pictures of {CLIPPED[0]} x {CLIPPED[1]} are clipped from {camera.width} x "
            f"{camera.height}, and the report does not say where: the principal point is that of {CLIPS[0]}={left}, "
            f"{CLIPS[1]}={top} (where unknown the middle), and may be so many pixels off"
        )
    return left, top


def _chosen_clip(archive: Archive, name: str, most: int) -> int:
    value: int = archive.parameters[name]
    if not UNKNOWN <= value <= most:
        raise UsageError(f"parameter {name}: expected 0 to {most}, or {UNKNOWN} for unknown, got {value}")
    return most // 2 if value == UNKNOWN else value
