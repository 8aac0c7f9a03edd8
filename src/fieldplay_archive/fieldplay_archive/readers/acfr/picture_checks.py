"""What the pictures themselves tell: the greens of a mosaic, and the black bands beside the infra-red picture."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from fieldplay_archive.archive import Archive
from fieldplay_archive.readers.acfr.cameras import stream_id
from fieldplay_archive.readers.acfr.intrinsics import CLIPPED, IR, VISUAL
from fieldplay_messages.errors import ArchiveError
from fieldplay_messages.records import Pictures, Pixels

PICTURES = 8
BLACK = 16  # a band may hold noise
CHANNELS = {"bgr8": 3, "bgra8": 4}
ALIKE = 0.5  # of the larger difference: the greens' means differ by less

Bytes = NDArray[np.uint8]


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
    count = len(stream.spans)
    for index in sorted({int(place) for place in np.linspace(0, count - 1, min(PICTURES, count))}):
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
