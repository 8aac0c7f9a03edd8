"""Products as files for other programs: point clouds as PLY, maps as GeoTIFF, images as PNG."""

import io
from collections.abc import Sequence
from typing import Any

import cv2
import numpy as np
import tifffile
from numpy.typing import NDArray

from fieldplay.core.errors import ArchiveError, UsageError
from fieldplay.io.pcd import pcd_from_cloud
from fieldplay.io.ply import ply_from_cloud
from fieldplay.messages.image_pixels import pixels_from_image
from fieldplay.messages.message_columns import decode_message
from fieldplay.messages.point_clouds import rows_of_cloud
from fieldplay_cdff.io.outputs import METADATA
from fieldplay_cdff.io.sources import CLOUD, IMAGE
from fieldplay_cdff.offline.elevation import geotiff_bytes
from fieldplay_cdff.products.product import TypedMessage
from fieldplay_cdff.steps.values import Cloud, ElevationGrid

CDR = "cdr"
FORMATS = {(CLOUD,): ("ply", "pcd"), (IMAGE, METADATA): ("tif",), (IMAGE,): ("png", "tif")}  # by types of messages
NUMBERS = {"32FC1": np.float32, "16UC1": np.uint16}  # images whose values are no colours


def ply_bytes(cloud: Cloud) -> bytes:
    """Binary PLY: x, y, z, and intensity or colours where the cloud has them."""
    return ply_from_cloud(cloud_rows(cloud))


def cloud_rows(cloud: Cloud) -> NDArray[Any]:
    """The points of a cloud as rows with x, y, z, and intensity or colours where it has them."""
    columns: list[tuple[str, str, NDArray[Any]]] = []
    columns += [(axis, "<f4", cloud.points[:, index]) for index, axis in enumerate("xyz")]
    if cloud.intensity is not None:
        columns.append(("intensity", "<f4", cloud.intensity))
    if cloud.colors is not None:
        columns += [(name, "|u1", cloud.colors[:, index]) for index, name in enumerate(("red", "green", "blue"))]
    rows = np.zeros(len(cloud), np.dtype([(name, kind) for name, kind, _ in columns]))
    for name, _, values in columns:
        rows[name] = values
    return rows


def product_files(messages: Sequence[TypedMessage], name: str = "") -> dict[str, bytes]:
    """The files that a product becomes, by how their names end.

    Args:
        messages: of the product.
        name: of the format: ply or pcd of clouds, tif of maps and of depth images, png of images, cdr of everything;
            "" is the usual one, which is cdr where no other suits.

    Raises:
        UsageError: the product cannot be of that format.
    """
    types = tuple(message.msgtype for message in messages)
    formats = FORMATS.get(types, ())
    usual = name or (formats[0] if formats else CDR)
    if usual == CDR:
        return _raw_files(messages)
    if usual not in formats:
        there = ", ".join((*formats, CDR))
        raise UsageError(f"{' and '.join(types)} cannot be written as {usual}: expected one of {there}")
    if types == (CLOUD,):
        cloud = cloud_rows(_cloud(_message(messages[0])))
        return {f".{usual}": ply_from_cloud(cloud) if usual == "ply" else pcd_from_cloud(cloud)}
    if types == (IMAGE, METADATA):
        return {".tif": geotiff_bytes(_grid(*map(_message, messages)), bands=("mean",))}
    files = _image_files(_message(messages[0]))
    if name and f".{name}" not in files:
        raise UsageError(f"this image cannot be written as {name}: expected {', '.join(files).replace('.', '')}")
    return files


def _raw_files(messages: Sequence[TypedMessage]) -> dict[str, bytes]:
    if len(messages) == 1:
        return {".cdr": messages[0].data}
    return {f"_{number}.cdr": message.data for number, message in enumerate(messages)}


def _message(message: TypedMessage) -> Any:
    record = decode_message(message.msgtype, np.frombuffer(message.data, np.uint8))
    if record is None:
        raise ArchiveError(f"its {len(message.data)} bytes cannot be read as {message.msgtype}")
    return record


def _cloud(message: Any) -> Cloud:
    rows = rows_of_cloud(message)
    names = rows.dtype.names or ()
    points = np.stack([rows[axis].astype(np.float64) for axis in "xyz"], axis=-1).reshape(-1, 3)
    colors = None
    if "rgb" in names:
        packed = np.ascontiguousarray(rows["rgb"]).view(np.uint32).reshape(-1)
        colors = np.stack([packed >> shift & 0xFF for shift in (16, 8, 0)], axis=-1).astype(np.uint8)
    intensity = rows["intensity"].astype(np.float32).reshape(-1) if "intensity" in names else None
    return Cloud(points=points, intensity=intensity, colors=colors)


def _grid(image: Any, grid_position: Any) -> ElevationGrid:
    heights = np.frombuffer(image.data, "<f4").reshape(image.height, image.width).astype(np.float64)
    nothing = np.full_like(heights, np.nan)
    return ElevationGrid(
        x_m=grid_position.origin.position.x, y_m=grid_position.origin.position.y,
        resolution_m=float(np.float32(grid_position.resolution)),
        mean=heights, deviation=nothing, lowest=nothing, highest=nothing, count=np.isfinite(heights).astype(np.int64),
    )  # fmt: skip


def _image_files(message: Any) -> dict[str, bytes]:
    """Return a PNG, or a TIFF where PNG cannot hold the numbers."""
    if message.encoding in NUMBERS and not message.is_bigendian:
        kind = np.dtype(NUMBERS[message.encoding])
        rows = np.frombuffer(message.data, np.uint8).reshape(message.height, message.step)
        values = np.ascontiguousarray(rows[:, : message.width * kind.itemsize]).view(kind)
        out = io.BytesIO()
        tifffile.imwrite(out, values, compression="zlib", metadata=None)
        return {".tif": out.getvalue()}
    return {".png": cv2.imencode(".png", pixels_from_image(message))[1].tobytes()}
