"""What the report leaves open, measured in the data: a setting that does not fit is said aloud, never changed."""

from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from fieldplay.core.errors import ArchiveError
from fieldplay.core.timestamps import NS_PER_S
from fieldplay.datasets.acfr import navigation_checks as nav
from fieldplay.datasets.acfr import scene_checks as scene
from fieldplay.datasets.acfr.calibration import CLIPPED, IR, VISUAL
from fieldplay.datasets.acfr.cameras import stream_id
from fieldplay.datasets.acfr.sets import KnownSet
from fieldplay.datasets.archive import Archive, spread
from fieldplay.io.table_streams import Tables
from fieldplay.messages.records import Pictures, Pixels

APART_S = 1.0  # by so much streams may start or end apart, and durations differ
SENSORS = ("laser_", "radar_", "nav_", "visual_camera_", "ir_camera_")  # which the report's interval is about
LATE_SETS = (5, 12)  # of which the report says that some sensors start late or end early
PICTURES = 8
BLACK = 16  # a band may hold noise
CHANNELS = {"bgr8": 3, "bgra8": 4}
ALIKE = 0.5  # of the larger difference: the greens' means differ by less

Bytes = NDArray[np.uint8]


def add_checks(archive: Archive, tables: Mapping[str, Tables], known: KnownSet | None) -> None:
    """Add what is measured when somebody asks what the archive, of a known set or another, holds."""
    archive.checks.append(lambda opened: check_times(opened, known))
    archive.checks.append(lambda opened: nav.check_rates(opened, tables))
    archive.checks.append(lambda opened: nav.check_jumps(opened, tables))
    archive.checks.append(lambda opened: nav.check_course(opened, tables))
    archive.checks.append(nav.check_skid_steer)
    archive.checks.append(lambda opened: scene.check_poles(opened, tables, known))
    archive.checks.append(lambda opened: scene.check_reflector(opened, tables, known))
    archive.checks.append(lambda opened: scene.check_radar_ranges(opened, tables))
    archive.checks.append(check_mosaic)
    archive.checks.append(check_black_bands)


def check_times(archive: Archive, known: KnownSet | None) -> None:
    """Note when sensors start and end apart, and the interval of all of them beside the report's."""
    times = {
        name: (min(span.first_ns for span in stream.spans), max(span.last_ns for span in stream.spans))
        for name, stream in archive.streams.items()
        if name.startswith(SENSORS) and stream.spans
    }
    if not times:
        return
    begin_ns, end_ns = min(first for first, _ in times.values()), max(last for _, last in times.values())
    late = {name: (first - begin_ns) / NS_PER_S for name, (first, _) in times.items()}
    early = {name: (end_ns - last) / NS_PER_S for name, (_, last) in times.items()}
    for what, apart in (("start after the first", late), ("end before the last", early)):
        told = [f"{name} {seconds:.3f} s" for name, seconds in apart.items() if seconds > APART_S]
        if told:
            archive.notes.append(f"measured: streams that {what}: {', '.join(told)}")
    common_ns = (max(first for first, _ in times.values()), min(last for _, last in times.values()))
    _compare_with_report(archive, common_ns, known)


def _compare_with_report(archive: Archive, common_ns: tuple[int, int], known: KnownSet | None) -> None:
    first_s, last_s = (value / NS_PER_S for value in common_ns)
    text = f"all sensors have data for {max(last_s - first_s, 0):.3f} s, from {first_s:.3f} to {last_s:.3f}"
    if known is None:
        archive.notes.append(f"measured: {text}")
        return
    beside = f"{text}; the report has {known.duration_s:.3f} s, from {known.start_s:.3f} to {known.end_s:.3f}"
    if abs(first_s - known.start_s) <= APART_S and abs(last_s - known.end_s) <= APART_S:
        archive.notes.append(f"measured: {beside}")
        return
    why = "other times"
    if known.number in LATE_SETS:
        why = "it also says that some start late or end early"
    elif first_s >= known.start_s - APART_S and last_s <= known.end_s + APART_S:
        why = "this is a part of it, or some sensors start late or end early"
    archive.notes.append(f"warning: {beside}: {why}")


def check_mosaic(archive: Archive) -> None:
    """Note where the greens of the visual camera's mosaic lie: their means are alike, those of red and blue are not."""
    encoded = f"bayer_{archive.parameters['bayer']}8"
    mosaics = (pixels for pixels in _sampled(archive, VISUAL) if pixels.encoding == encoded)
    means = [_phases(pixels) for pixels in mosaics if min(pixels.width, pixels.height) > 1]
    if not means:
        return
    top_left, top_right, low_left, low_right = np.mean(means, axis=0)
    main, other = abs(top_left - low_right), abs(top_right - low_left)
    if min(main, other) > ALIKE * max(main, other):
        archive.notes.append("measured: no two of the mosaic's four colours are alike: perhaps --set bayer=none")
        return
    kinds = ("rggb", "bggr") if other < main else ("grbg", "gbrg")
    text = f"the greens of the visual camera's mosaic lie as in {kinds[0]} and {kinds[1]}"
    fits = archive.parameters["bayer"] in kinds
    archive.notes.append(f"measured: {text}" if fits else f"warning: {text}, not as in {archive.parameters['bayer']}")


def check_black_bands(archive: Archive) -> None:
    """Note what is left of whole infra-red pictures without the black bands: the others were clipped to that."""
    camera = archive.spec.cameras.get(IR)
    if camera is None:
        return
    whole = [_grey(pixels) for pixels in _sampled(archive, IR) if (pixels.width, pixels.height) != CLIPPED]
    whole = [picture for picture in whole if picture.shape == (camera.height, camera.width)]
    if not whole:
        return
    bright = np.max(whole, axis=0) > BLACK
    columns, rows = np.flatnonzero(bright.any(axis=0)), np.flatnonzero(bright.any(axis=1))
    if not len(columns) or (len(columns), len(rows)) == (camera.width, camera.height):
        return
    left, top = int(columns[0]), int(rows[0])
    width, height = int(columns[-1]) + 1 - left, int(rows[-1]) + 1 - top
    text = f"beside black bands the infra-red pictures are {width} x {height}, from column {left}, row {top}"
    fits = f": pictures of {CLIPPED[0]} x {CLIPPED[1]} play with --set ir_clip_x_px={left} --set ir_clip_y_px={top}"
    archive.notes.append(f"measured: {text}{fits if (width, height) == CLIPPED else ''}")


def _sampled(archive: Archive, camera: str) -> Iterator[Pixels]:
    """Pictures from all over the stream, without the defective ones."""
    stream = archive.streams.get(stream_id(camera))
    if stream is None:
        return
    for index in spread(len(stream.spans), PICTURES):
        record = stream.load(index)
        if not isinstance(record, Pictures):
            continue
        try:
            pixels = record.load(0)
        except (ArchiveError, OSError):
            continue  # reported when it is read to be sent
        if isinstance(pixels, Pixels):
            yield pixels


def _grey(pixels: Pixels) -> Bytes:
    """The pixels (height, width), of a coloured picture the brightest colour."""
    rows = np.frombuffer(pixels.data, np.uint8).reshape(pixels.height, pixels.step)
    channels = CHANNELS.get(pixels.encoding, 1)
    found: Bytes = rows[:, : pixels.width * channels].reshape(pixels.height, pixels.width, channels).max(axis=2)
    return found


def _phases(pixels: Pixels) -> list[float]:
    """The mean of each of the mosaic's four colours."""
    grey = _grey(pixels)
    return [float(grey[row::2, column::2].mean()) for row in (0, 1) for column in (0, 1)]
