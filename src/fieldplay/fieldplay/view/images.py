"""Pictures: the bytes of their files where Rerun knows these, else their pixels."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import rerun as rr
from numpy.typing import NDArray

from fieldplay.core.errors import ArchiveError
from fieldplay.messages import records
from fieldplay.messages.image_pixels import SHAPES, pixels_from_file, pixels_from_image
from fieldplay.view.entry import Entry

KINDS = {b"\xff\xd8": "image/jpeg", b"\x89P": "image/png"}  # by the first two bytes of a file
PLAIN = {"mono8": "L", "8UC1": "L", "rgb8": "RGB", "bgr8": "BGR", "8UC3": "BGR", "rgba8": "RGBA", "bgra8": "BGRA"}
DEPTHS = ("16UC1", "mono16", "32FC1")
MILLIMETRES, METRES = 1000.0, 1.0


def pictures(parts: Sequence[records.Pictures], plane: str) -> Iterator[tuple[NDArray[np.int64], Entry]]:
    """Pictures with which of the parts' rows (k,) they are; those of one kind in an entry.

    ArchiveError of one that no picture can be made of.
    """
    by_kind: dict[str, list[tuple[int, Any]]] = {}
    row = 0
    for part in parts:
        for place in range(len(part)):
            kind, data = _kind(part.load(place))
            by_kind.setdefault(kind, []).append((row, data))
            row += 1
    for kind, found in by_kind.items():
        rows = np.array([row for row, _ in found])
        columns = _columns(kind, [data for _, data in found])
        yield rows, Entry(columns=columns, rows=rows, is_placed=bool(plane), frame=plane)


def _kind(data: Any) -> tuple[str, Any]:
    if not isinstance(data, records.Pixels):
        known = KINDS.get(bytes(data[:2]), "")
        return (known, bytes(data)) if known else ("BGR", pixels_from_file(data))
    if data.encoding in DEPTHS:
        return "depth", _numbers(data)
    if data.encoding in PLAIN and PLAIN[data.encoding] != "BGR":
        return PLAIN[data.encoding], _numbers(data)
    return "BGR", pixels_from_image(data)


def _numbers(data: records.Pixels) -> NDArray[Any]:
    """Pixels (h, w) or (h, w, channels) as they are, without what fills up their rows."""
    kind, channels = SHAPES[data.encoding]
    base = np.dtype(kind).newbyteorder(">" if data.is_bigendian else "<")
    used = data.width * channels * base.itemsize
    if not 0 < used <= data.step or len(data.data) < data.step * data.height:
        got = f"{len(data.data)} bytes in steps of {data.step}"
        raise ArchiveError(f"expected {data.width} x {data.height} pixels of {data.encoding}, got {got}")
    rows = np.frombuffer(data.data, np.uint8, data.step * data.height).reshape(data.height, data.step)[:, :used]
    values: NDArray[Any] = np.ascontiguousarray(rows).view(base).astype(base.newbyteorder("="))
    return values if channels == 1 else values.reshape(data.height, data.width, channels)


def _columns(kind: str, found: list[Any]) -> Any:
    if kind.startswith("image/"):
        return rr.EncodedImage.columns(blob=found, media_type=[kind] * len(found))
    formats = [_format(kind, values) for values in found]
    buffers = [values.tobytes() for values in found]
    if kind != "depth":
        return rr.Image.columns(buffer=buffers, format=formats)
    meters = [METRES if values.dtype.kind == "f" else MILLIMETRES for values in found]
    return rr.DepthImage.columns(buffer=buffers, format=formats, meter=meters)


def _format(kind: str, values: NDArray[Any]) -> Any:
    height, width = values.shape[:2]
    datatype = rr.ChannelDatatype.from_np_dtype(values.dtype)
    model = rr.ColorModel.L if kind == "depth" else rr.ColorModel.auto(kind)
    return rr.components.ImageFormat(width=width, height=height, color_model=model, channel_datatype=datatype)
