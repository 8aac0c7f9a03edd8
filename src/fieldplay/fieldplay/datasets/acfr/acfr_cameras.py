"""The cameras' images: BMP files with names and times from the cameras' logs. Times are never taken from names."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fieldplay.core.errors import ArchiveError, Defect, UsageError
from fieldplay.core.gaps import GapFinder
from fieldplay.core.timestamps import NS_PER_S
from fieldplay.datasets.acfr.report_sets import has_cameras
from fieldplay.datasets.archive import Archive, matching_files, plausible_ns
from fieldplay.geometry.camera_model import CameraModel
from fieldplay.io.bmp import GREY, pixels_from_bmp
from fieldplay.io.containers import Files
from fieldplay.io.file_names import last_part
from fieldplay.io.tagged_lines import TaggedTexts, texts_from_lines
from fieldplay.messages.image_headers import ImageHeader, image_from_bytes
from fieldplay.messages.records import Images
from fieldplay.streams.stream import FileStream, Stream

VISUAL, IR = "visual_camera", "ir_camera"
RESULTS = "calibration_results"
SIBLING_RESULTS = Path("Calibration", "Calib_Results.m")
CLIPPED = (511, 398)
CLIPS, UNKNOWN = ("ir_clip_x_px", "ir_clip_y_px"), -1
NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eEdD][-+]?\d+)?"
ASSIGNED = re.compile(
    rf"^[ \t]*(\w+)[ \t]*=[ \t]*(?:\[([^\]\n]*)\]|({NUMBER}))[ \t]*;?[ \t]*(?:%.*)?\r?$", re.MULTILINE
)
SEPARATORS = re.compile(r"[\s;,]+")
LENGTHS = {"fc": (2,), "cc": (2,), "kc": (4, 5), "alpha_c": (1,), "nx": (1,), "ny": (1,)}
ROUNDED_PX = 1.0  # by which a scaled image's side may differ from the camera's shape
COEFFICIENTS = 5  # k1 k2 p1 p2 k3, in the toolbox as in OpenCV
Size = tuple[int, int]
LOGS = {VISUAL: ("visual_log", "visual_images"), IR: ("ir_log", "ir_images")}
CALIBRATION_LOG, CALIBRATION_IMAGES = "calibration_log", "calibration_images"
LOOKED_AT = 5  # images whose headers determine the size and kind of all
HEAD = 4096  # bytes, in which the header and the palette of a BMP lie
NO_MOSAIC, FRAME = "none", "VISION_FRAME"
Stamps = NDArray[np.int64]


# The cameras' intrinsics: the report's or those of a Calib_Results.m, and what a clipped image makes of them.


def numbers_from_matlab(text: str) -> dict[str, tuple[float, ...]]:
    """The numbers that a file of Bouguet's toolbox assigns to the names of LENGTHS; nothing of it is run."""
    numbers = {}
    for name, several, one in ASSIGNED.findall(text):
        if name not in LENGTHS:
            continue
        cells = [cell for cell in SEPARATORS.split(several or one) if cell]
        if not all(re.fullmatch(NUMBER, cell) for cell in cells) or len(cells) not in LENGTHS[name]:
            expected = " or ".join(map(str, LENGTHS[name]))
            raise ArchiveError(f"{name}: expected numbers, {expected} of them, got '{(several or one)[:40]}'")
        numbers[name] = tuple(float(re.sub("[dD]", "e", cell)) for cell in cells)
    missing = [name for name in LENGTHS if name not in numbers and name != "alpha_c"]
    if missing:
        raise ArchiveError(f"expected numbers for {', '.join(missing)}, got none")
    return numbers


def camera_from_matlab(text: str, source: str) -> tuple[CameraModel, float]:
    """The camera of a Calib_Results.m, whose pixels are counted from 0 as here, and its skew (alpha_c)."""
    numbers = numbers_from_matlab(text)
    (fx, fy), (cx, cy), (width,), (height,) = (numbers[name] for name in ("fc", "cc", "nx", "ny"))
    if min(fx, fy, width, height) <= 0:
        raise ArchiveError(f"expected focal lengths and a size above 0, got {fx:g}, {fy:g}, {width:g} x {height:g}")
    distortion = (*numbers["kc"], 0.0)[:COEFFICIENTS]
    camera = CameraModel(
        width=int(width), height=int(height), fx=fx, fy=fy, cx=cx, cy=cy, distortion_model="plumb_bob",
        distortion=distortion, source=source,
    )  # fmt: skip
    return camera, numbers.get("alpha_c", (0.0,))[0]


def cameras_by_parameters(archive: Archive, files: Files, sizes: Mapping[str, Size]) -> dict[str, CameraModel]:
    """The cameras by their names: of the archive's Calib_Results.m, or one in a set beside it, else of the report.

    `sizes` are those of the archive's own images.
    """
    cameras = dict(archive.spec.cameras)
    if archive.parameters["intrinsics_from"] == "report":
        return cameras
    requested = archive.spec.rows[RESULTS]
    own: dict[str, Callable[[], bytes]] = {
        name: partial(files.read, name) for name in files.matching(requested.files, requested.folder)
    }
    sibling_files: dict[str, Callable[[], bytes]] = {str(path): path.read_bytes for path in _sibling_results(archive)}
    for name, read in {**sibling_files, **own}.items():
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


def _sibling_results(archive: Archive) -> list[Path]:
    """Calib_Results.m of the calibration sets that lie in the same folder as the archive."""
    root = archive.root.resolve()
    sets = [root.parent / name for name in archive.spec.constants["calibration_sets"]]
    return [path / SIBLING_RESULTS for path in sets if path != root and (path / SIBLING_RESULTS).is_file()]


def _name_of(camera: CameraModel, known: Mapping[str, CameraModel], sizes: Mapping[str, Size]) -> str:
    """The camera of a size: the report's, else that of the images of one of them."""
    size = (camera.width, camera.height)
    reported = {name: (other.width, other.height) for name, other in known.items()}
    names = [name for name, other in reported.items() if other == size]
    names = names or [name for name, other in sizes.items() if other == size]
    if len(names) != 1:
        expected = " or ".join(dict.fromkeys(_size_text(size) for size in [*reported.values(), *sizes.values()]))
        raise ArchiveError(f"nx, ny: expected {expected}, of one camera, got {_size_text(size)}")
    return names[0]


def _size_text(size: Size) -> str:
    return f"{size[0]} x {size[1]}"


def _note_intrinsics(archive: Archive, name: str, camera: CameraModel, *, skew: float) -> None:
    reported = archive.spec.cameras[name]
    difference = max(abs(getattr(camera, key) - getattr(reported, key)) for key in ("fx", "fy", "cx", "cy"))
    text = f"{name}: intrinsics of {camera.source}, at most {difference:.3g} pixels from the report's"
    archive.notes.append(text)
    if skew:
        archive.notes.append(f"warning: {name}: alpha_c is {skew:g}, which CameraInfo cannot hold: left out")


def fit_camera(archive: Archive, name: str, camera: CameraModel, size: Size) -> CameraModel | None:
    """The camera for images of a size (width, height), clipped or scaled ones; None for those of another shape."""
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
        f"warning: {name}: images of {_size_text(size)} have the aspect ratio of the {_size_text(own)} "
        "that its calibration is for: these are scaled"
    )
    return replace(  # the outer edges of the images meet, not the centres of their first pixels
        camera, width=size[0], height=size[1], fx=camera.fx * across, fy=camera.fy * down,
        cx=(camera.cx + 0.5) * across - 0.5, cy=(camera.cy + 0.5) * down - 0.5,
    )  # fmt: skip


def _clip(archive: Archive, camera: CameraModel) -> tuple[int, int]:
    """Columns and rows that are missing at the left and the top, by the parameters or as if it were the middle."""
    left, top = (
        _chosen_clip(archive, name, whole - clipped)
        for name, whole, clipped in zip(CLIPS, (camera.width, camera.height), CLIPPED, strict=True)
    )
    if UNKNOWN in (archive.parameters[name] for name in CLIPS):
        archive.notes.append(
            f"warning: ir_camera: images of {CLIPPED[0]} x {CLIPPED[1]} are clipped from {camera.width} x "
            f"{camera.height} at an unpublished position: the principal point is that of {CLIPS[0]}={left}, "
            f"{CLIPS[1]}={top} (the middle where unknown), and may be off by as many pixels"
        )
    return left, top


def _chosen_clip(archive: Archive, name: str, most: int) -> int:
    value: int = archive.parameters[name]
    if not UNKNOWN <= value <= most:
        raise UsageError(f"parameter {name}: expected 0 to {most}, or {UNKNOWN} for unknown, got {value}")
    return most // 2 if value == UNKNOWN else value


@dataclass(frozen=True, kw_only=True, eq=False)
class ListedImages:
    """Images (n,) with their times, in the order of the log."""

    names: list[str]
    stamp_ns: Stamps


def stream_id(camera: str) -> str:
    """The stream of a camera's images."""
    return f"{camera}_image_raw"


def open_cameras(archive: Archive, files: Files, name: str) -> dict[str, Stream]:
    """The streams of the images of a set, and the cameras as they fit them, in the archive's description."""
    both = has_cameras(name, files)
    chosen = _chosen_for_calibration(archive, files)
    images: dict[str, ListedImages] = {}
    for camera in LOGS:
        listed = _images_of_log(archive, files, camera, is_expected=both)
        if camera in chosen:
            listed = _choose_images(archive, listed, chosen[camera])
        if listed.names:
            images[camera] = listed
    usual = {camera: _usual_image(files, listed.names) for camera, listed in images.items()}
    archive.spec = replace(archive.spec, cameras=_cameras(archive, files, images, usual))
    return {
        stream_id(camera): _stream(files, listed, _grey(archive, camera, usual[camera]))
        for camera, listed in images.items()
    }


def _cameras(
    archive: Archive, files: Files, images: Mapping[str, ListedImages], usual: Mapping[str, ImageHeader | None]
) -> dict[str, CameraModel]:
    """The cameras as they fit their images; one that does not fit is reported, and not among them."""
    sizes = {name: (image.width, image.height) for name, image in usual.items() if image is not None}
    cameras = cameras_by_parameters(archive, files, sizes)
    for name, size in sizes.items():
        camera = cameras.pop(name)
        fitted = fit_camera(archive, name, camera, size)
        if fitted is not None:
            cameras[name] = fitted
            continue
        expected, got = f"{camera.width} x {camera.height}", f"{size[0]} x {size[1]}"
        message = f"expected images of {expected}, as the camera's calibration, or of the same aspect ratio, got {got}"
        archive.defects(
            Defect(
                file=images[name].names[0], kind="picture_size", stream=stream_id(name),
                message=f"{message}; they play without camera_info",
            )
        )  # fmt: skip
    return cameras


def _stream(files: Files, listed: ListedImages, grey: str) -> FileStream:
    def load_images(names: tuple[str, ...], stamp_ns: Stamps) -> Images:
        return Images(
            stamp_ns=stamp_ns,
            names=names,
            load=lambda row: pixels_from_bmp(files.read(names[row]), grey=grey),
            packed=False,
        )

    return FileStream(listed.names, listed.stamp_ns, load_images)


def _usual_image(files: Files, names: list[str]) -> ImageHeader | None:
    """What the headers of most sound images say, of some from all over the stream."""
    headers: Counter[ImageHeader] = Counter()
    step = max(1, len(names) // LOOKED_AT)
    for name in [*names[::step], *names]:
        if headers.total() >= LOOKED_AT:
            break
        try:
            with files.open(name) as file:
                headers[image_from_bytes(file.read(HEAD))] += 1
        except (ArchiveError, OSError):
            continue  # reported when it is its turn to be read
    return headers.most_common(1)[0][0] if headers else None


def _grey(archive: Archive, camera: str, first: ImageHeader | None) -> str:
    """The encoding of one number for each pixel: a mosaic, of the visual camera."""
    kind = archive.parameters["bayer"]
    if camera != VISUAL or kind == NO_MOSAIC:
        return GREY
    if first is not None and (first.channels, first.bits) == (1, 8):
        hint = "the report names only Bayer8; --set bayer=... chooses another mosaic, or none for greys"
        archive.notes.append(f"{camera}: one number for each pixel, sent as bayer_{kind}8: {hint}")
    return f"bayer_{kind}8"


def _images_of_log(archive: Archive, files: Files, camera: str, *, is_expected: bool) -> ListedImages:
    """The images that a camera's log names and that are there."""
    log_key, images_key = LOGS[camera]
    kinds = {key: archive.spec.rows[key] for key in (log_key, images_key)}
    file_names = {key: files.matching(requested.files, requested.folder) for key, requested in kinds.items()}
    if any(file_names.values()):
        file_names = {key: matching_files(archive, files, key, requested) for key, requested in kinds.items()}
    elif is_expected:
        requested_files = " and ".join(requested.shown for requested in kinds.values())
        message = f"expected a folder with {requested_files}, got none; the rest plays"
        folder = kinds[log_key].folder
        archive.note_missing(folder, message, stream=stream_id(camera))
    images = {last_part(name).lower(): name for name in file_names[images_key]}
    entries = [
        entry for log in file_names[log_key] for entry in _entries(archive, files, log, stream=stream_id(camera))
    ]
    names, stamps = [], []
    for log, line, stamp_ns, text in entries:
        name = images.get(last_part(text.strip()).lower())
        if name is None:
            message = f"expected an image '{text}', got none of this name; the others play"
            archive.defects(
                Defect(file=log, row=line, kind="missing_picture", stream=stream_id(camera), message=message)
            )
        else:
            names.append(name)
            stamps.append(stamp_ns)
    if file_names[log_key]:
        _report_unlisted(archive, camera, file_names[images_key], listed={*names})
    return ListedImages(names=names, stamp_ns=np.array(stamps, np.int64))


def _report_unlisted(archive: Archive, camera: str, images: list[str], *, listed: set[str]) -> None:
    for name in images:
        if name not in listed:
            message = "expected its time in the camera's log, got none: it is left out"
            archive.defects(Defect(file=name, kind="picture_not_in_log", stream=stream_id(camera), message=message))


def _entries(archive: Archive, files: Files, log: str, *, stream: str) -> Iterator[tuple[str, int, int, str]]:
    """The good lines of a log: its name, the line from 1, the time and the text behind it; others are reported."""
    read = _texts(archive, files, log, stream=stream)
    for line, stamp_ns, text in zip(read.line.tolist(), read.stamp_ns.tolist(), read.texts, strict=True):
        if text:
            yield log, line + 1, stamp_ns, text
        else:
            message = "expected the name of an image after the time, got none"
            archive.defects(Defect(file=log, row=line + 1, kind="short_row", stream=stream, message=message))


def _texts(archive: Archive, files: Files, log: str, *, stream: str) -> TaggedTexts:
    """The lines of a log that have a time that can be; others, and times in a strange order, are reported."""
    try:
        data = files.read(log)
    except (ArchiveError, OSError) as error:
        archive.defects(Defect(file=log, kind="unreadable_table", stream=stream, message=str(error)))
        data = b""

    def report(line: int, kind: str, message: str) -> None:
        archive.defects(Defect(file=log, row=line + 1, kind=kind, stream=stream, message=message))

    read = texts_from_lines(data, FRAME)
    for bad in read.bad:
        report(*bad)
    first, last = plausible_ns(archive.spec)
    possible = (read.stamp_ns >= first) & (read.stamp_ns <= last)
    for row in np.flatnonzero(~possible).tolist():
        got = f"{int(read.stamp_ns[row]) / NS_PER_S:.9g} s"
        report(int(read.line[row]), "implausible_time", f"expected a time that can be, got {got}; the line is left out")
    texts = tuple(text for text, good in zip(read.texts, possible.tolist(), strict=True) if good)
    read = replace(read, stamp_ns=read.stamp_ns[possible], texts=texts, line=read.line[possible])
    for row, kind, message in _order_issues(read.stamp_ns):
        report(int(read.line[row]), kind, message)
    return read


def _order_issues(stamp_ns: Stamps) -> Iterator[tuple[int, str, str]]:
    """Rows with duplicate or backward times, or after a gap; they are played at their times."""
    steps = np.diff(stamp_ns)
    for row in (np.flatnonzero(steps <= 0) + 1).tolist():
        if steps[row - 1] == 0:
            yield row, "duplicate_time", "the time is that of the row before"
        else:
            back_s = -int(steps[row - 1]) / NS_PER_S
            yield row, "backward_time", f"the time lies {back_s:.6f} s before that of the previous row"
    for row, gap_ns in GapFinder().gaps(stamp_ns):
        yield row, "gap", f"no row for {gap_ns / NS_PER_S:.3f} s before this one"


def _chosen_for_calibration(archive: Archive, files: Files) -> dict[str, ListedImages]:
    """The images that the camera's calibration was made of, by the camera: line n of their log is the time of n."""
    requested = {key: archive.spec.rows[key] for key in (CALIBRATION_LOG, CALIBRATION_IMAGES)}
    logs, images = (files.matching(rows.files, rows.folder) for rows in requested.values())
    if not logs or not images:
        return {}
    camera = IR if any(files.matching(".*", archive.spec.rows[key].folder) for key in LOGS[IR]) else VISUAL
    read = _texts(archive, files, logs[0], stream=stream_id(camera))
    numbers = [_number_in(name) for name in images]
    order = np.argsort(numbers, kind="stable").tolist()
    if len(images) != len(read.stamp_ns):
        message = f"expected a line for each of the {len(images)} images, got {len(read.stamp_ns)} with a time"
        archive.defects(Defect(file=logs[0], kind="count_mismatch", stream=stream_id(camera), message=message))
    if set(numbers) <= set((read.line + 1).tolist()) and len(set(numbers)) == len(numbers):
        rows = np.searchsorted(read.line + 1, np.array(numbers)[order])
    else:  # they are not numbered as the lines are: the n-th of them
        rows = np.arange(min(len(images), len(read.stamp_ns)))
    names = [images[index] for index in order[: len(rows)]]
    return {camera: ListedImages(names=names, stamp_ns=read.stamp_ns[rows])}


def _number_in(name: str) -> int:
    """The last number in a file's name; it is an index and no time."""
    digits = re.findall(r"\d+", last_part(name))
    return int(digits[-1]) if digits else 0


def _choose_images(archive: Archive, logged: ListedImages, chosen: ListedImages) -> ListedImages:
    """Choose the images of the log, or those of the calibration where requested or the only ones."""
    count = len(chosen.names)
    if logged.names and archive.parameters["pictures"] == "log":
        archive.notes.append(
            f"{count} images of the camera's calibration are not played, as they are a selection of the log's; "
            "--set pictures=calibration plays only them"
        )
        return logged
    archive.notes.append(f"the {count} images of the camera's calibration are played")
    return chosen
