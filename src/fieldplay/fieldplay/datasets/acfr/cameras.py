"""The cameras' pictures: BMP files whose names and times the cameras' logs tell. Times are never taken from names."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fieldplay.core.errors import ArchiveError, Defect
from fieldplay.core.gaps import GapFinder
from fieldplay.core.timestamps import NS_PER_S
from fieldplay.datasets.acfr.calibration import (
    IR,
    VISUAL,
    cameras_as_wanted,
    fitted_camera,
)
from fieldplay.datasets.acfr.sets import has_cameras
from fieldplay.datasets.archive import Archive, matching_files, plausible_ns
from fieldplay.io.bmp import GREY, pixels_from_bmp
from fieldplay.io.containers import Files
from fieldplay.io.file_names import last_part
from fieldplay.io.tagged_lines import MarkedTexts, texts_from_lines
from fieldplay.messages.image_headers import Picture, image_from_bytes
from fieldplay.messages.records import Pictures
from fieldplay.messages.stream_spec import Camera
from fieldplay.streams.stream import FileStream, Stream

LOGS = {VISUAL: ("visual_log", "visual_images"), IR: ("ir_log", "ir_images")}
CALIBRATION_LOG, CALIBRATION_IMAGES = "calibration_log", "calibration_images"
LOOKED_AT = 5  # pictures whose headers tell the size and kind of all
HEAD = 4096  # bytes, in which the header and the palette of a BMP lie
NO_MOSAIC, FRAME = "none", "VISION_FRAME"

Stamps = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True, eq=False)
class ListedImages:
    """Pictures (n,) with their times, in the order of the log."""

    names: list[str]
    stamp_ns: Stamps


def stream_id(camera: str) -> str:
    """The stream of a camera's pictures."""
    return f"{camera}_image_raw"


def open_cameras(archive: Archive, files: Files, name: str) -> dict[str, Stream]:
    """The streams of the pictures of a set, and the cameras as they fit them, in the archive's description."""
    both = has_cameras(name, files)
    chosen = _chosen_for_calibration(archive, files)
    found: dict[str, ListedImages] = {}
    for camera in LOGS:
        listed = _of_log(archive, files, camera, is_expected=both)
        if camera in chosen:
            listed = _preferred(archive, listed, chosen[camera])
        if listed.names:
            found[camera] = listed
    usual = {camera: _usual_image(files, listed.names) for camera, listed in found.items()}
    archive.spec = replace(archive.spec, cameras=_cameras(archive, files, found, usual))
    return {
        stream_id(camera): _stream(files, listed, _grey(archive, camera, usual[camera]))
        for camera, listed in found.items()
    }


def _cameras(
    archive: Archive, files: Files, found: Mapping[str, ListedImages], usual: Mapping[str, Picture | None]
) -> dict[str, Camera]:
    """The cameras as they fit their pictures; one that does not fit is reported, and not among them."""
    sizes = {name: (picture.width, picture.height) for name, picture in usual.items() if picture is not None}
    cameras = cameras_as_wanted(archive, files, sizes)
    for name, size in sizes.items():
        camera = cameras.pop(name)
        fitted = fitted_camera(archive, name, camera, size)
        if fitted is not None:
            cameras[name] = fitted
            continue
        expected, got = f"{camera.width} x {camera.height}", f"{size[0]} x {size[1]}"
        message = (
            f"expected pictures of {expected}, for which the camera's numbers are, or of the same shape, got {got}"
        )
        archive.defects(
            Defect(
                file=found[name].names[0], kind="picture_size", stream=stream_id(name),
                message=f"{message}; they play without camera_info",
            )
        )  # fmt: skip
    return cameras


def _stream(files: Files, listed: ListedImages, grey: str) -> FileStream:
    def pictures(names: tuple[str, ...], stamp_ns: Stamps) -> Pictures:
        return Pictures(
            stamp_ns=stamp_ns,
            names=names,
            load=lambda row: pixels_from_bmp(files.read(names[row]), grey=grey),
            packed=False,
        )

    return FileStream(listed.names, listed.stamp_ns, pictures)


def _usual_image(files: Files, names: list[str]) -> Picture | None:
    """What the headers of most sound pictures say, of some from all over the stream."""
    found: Counter[Picture] = Counter()
    step = max(1, len(names) // LOOKED_AT)
    for name in [*names[::step], *names]:
        if found.total() >= LOOKED_AT:
            break
        try:
            with files.open(name) as file:
                found[image_from_bytes(file.read(HEAD))] += 1
        except (ArchiveError, OSError):
            continue  # reported when it is its turn to be read
    return found.most_common(1)[0][0] if found else None


def _grey(archive: Archive, camera: str, first: Picture | None) -> str:
    """The encoding of one number for each pixel: a mosaic, of the visual camera."""
    kind = archive.parameters["bayer"]
    if camera != VISUAL or kind == NO_MOSAIC:
        return GREY
    if first is not None and (first.channels, first.bits) == (1, 8):
        says = "the report only says Bayer8; --set bayer=... chooses another mosaic, or none for greys"
        archive.notes.append(f"{camera}: one number for each pixel, sent as bayer_{kind}8: {says}")
    return f"bayer_{kind}8"


def _of_log(archive: Archive, files: Files, camera: str, *, is_expected: bool) -> ListedImages:
    """The pictures that a camera's log names and that are there."""
    log_key, images_key = LOGS[camera]
    kinds = {key: archive.spec.rows[key] for key in (log_key, images_key)}
    found = {key: files.matching(wanted.files, wanted.folder) for key, wanted in kinds.items()}
    if any(found.values()):
        found = {key: matching_files(archive, files, key, wanted) for key, wanted in kinds.items()}
    elif is_expected:
        wanted_files = " and ".join(wanted.shown for wanted in kinds.values())
        message = f"expected a folder with {wanted_files}, got none; the rest plays"
        place = kinds[log_key].folder
        archive.lack(place, message, stream=stream_id(camera))
    images = {last_part(name).lower(): name for name in found[images_key]}
    entries = [entry for log in found[log_key] for entry in _entries(archive, files, log, stream=stream_id(camera))]
    names, stamps = [], []
    for log, line, stamp_ns, text in entries:
        name = images.get(last_part(text.strip()).lower())
        if name is None:
            message = f"expected a picture '{text}', got none of this name; the others play"
            archive.defects(
                Defect(file=log, row=line, kind="missing_picture", stream=stream_id(camera), message=message)
            )
        else:
            names.append(name)
            stamps.append(stamp_ns)
    if found[log_key]:
        _report_unlisted(archive, camera, found[images_key], listed={*names})
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
            message = "expected the name of a picture behind the time, got none"
            archive.defects(Defect(file=log, row=line + 1, kind="short_row", stream=stream, message=message))


def _texts(archive: Archive, files: Files, log: str, *, stream: str) -> MarkedTexts:
    """The lines of a log that have a time that can be; others, and times in a strange order, are reported."""
    try:
        data = files.read(log)
    except (ArchiveError, OSError) as error:
        archive.defects(Defect(file=log, kind="unreadable_table", stream=stream, message=str(error)))
        data = b""

    def tell(line: int, kind: str, message: str) -> None:
        archive.defects(Defect(file=log, row=line + 1, kind=kind, stream=stream, message=message))

    read = texts_from_lines(data, FRAME)
    for bad in read.bad:
        tell(*bad)
    first, last = plausible_ns(archive.spec)
    possible = (read.stamp_ns >= first) & (read.stamp_ns <= last)
    for row in np.flatnonzero(~possible).tolist():
        got = f"{int(read.stamp_ns[row]) / NS_PER_S:.9g} s"
        tell(int(read.line[row]), "implausible_time", f"expected a time that can be, got {got}; the line is left out")
    texts = tuple(text for text, good in zip(read.texts, possible.tolist(), strict=True) if good)
    read = replace(read, stamp_ns=read.stamp_ns[possible], texts=texts, line=read.line[possible])
    for row, kind, message in _faults_of_order(read.stamp_ns):
        tell(int(read.line[row]), kind, message)
    return read


def _faults_of_order(stamp_ns: Stamps) -> Iterator[tuple[int, str, str]]:
    """Rows whose time is that of the row before, lies before it, or long after it; they play at their times."""
    steps = np.diff(stamp_ns)
    for row in (np.flatnonzero(steps <= 0) + 1).tolist():
        if steps[row - 1] == 0:
            yield row, "duplicate_time", "the time is that of the row before"
        else:
            back_s = -int(steps[row - 1]) / NS_PER_S
            yield row, "backward_time", f"the time lies {back_s:.6f} s before that of the row before"
    for row, gap_ns in GapFinder().gaps(stamp_ns):
        yield row, "gap", f"no row for {gap_ns / NS_PER_S:.3f} s before this one"


def _chosen_for_calibration(archive: Archive, files: Files) -> dict[str, ListedImages]:
    """The pictures that the camera's calibration was made of, by the camera: line n of their log is the time of n."""
    wanted = {key: archive.spec.rows[key] for key in (CALIBRATION_LOG, CALIBRATION_IMAGES)}
    logs, images = (files.matching(rows.files, rows.folder) for rows in wanted.values())
    if not logs or not images:
        return {}
    camera = IR if any(files.matching(".*", archive.spec.rows[key].folder) for key in LOGS[IR]) else VISUAL
    read = _texts(archive, files, logs[0], stream=stream_id(camera))
    numbers = [_number_in(name) for name in images]
    order = np.argsort(numbers, kind="stable").tolist()
    if len(images) != len(read.stamp_ns):
        message = f"expected a line for each of the {len(images)} pictures, got {len(read.stamp_ns)} with a time"
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


def _preferred(archive: Archive, logged: ListedImages, chosen: ListedImages) -> ListedImages:
    """Those of the log, or those of the calibration where there are no others or they are wanted."""
    count = len(chosen.names)
    if logged.names and archive.parameters["pictures"] == "log":
        archive.notes.append(
            f"{count} pictures of the camera's calibration do not play, as they were chosen from those of its log; "
            "--set pictures=calibration plays them alone"
        )
        return logged
    archive.notes.append(f"the {count} pictures of the camera's calibration play")
    return chosen
