"""Pictures inside the page, as data URIs."""

import base64

import cv2
import numpy as np
from numpy.typing import NDArray

from fieldplay.core.colour_map import colour_map
from fieldplay.report.html.markup import Html, void

JPEG_QUALITY, WEBP_QUALITY = 80, 82
LOSSLESS = 101  # as OpenCV has it

Pixels = NDArray[np.uint8]


def photo(pixels: Pixels, *, alternative: str) -> Html:
    """A picture (h, w, 3) in BGR as JPEG."""
    return _image(pixels, "jpeg", [cv2.IMWRITE_JPEG_QUALITY, JPEG_QUALITY], alternative=alternative)


def drawing(pixels: Pixels, *, alternative: str) -> Html:
    """A picture (h, w, 4) in BGRA as WebP, whose transparent parts show what is behind."""
    return _image(pixels, "webp", [cv2.IMWRITE_WEBP_QUALITY, WEBP_QUALITY], alternative=alternative)


def exact_drawing(pixels: Pixels, *, alternative: str) -> Html:
    """A picture (h, w, 4) in BGRA as WebP without any loss, for one of few and sharp cells."""
    return _image(pixels, "webp", [cv2.IMWRITE_WEBP_QUALITY, LOSSLESS], alternative=alternative)


def fitted(pixels: Pixels, widest: int) -> Pixels:
    """A picture not wider than so many pixels."""
    height, width = pixels.shape[:2]
    if width <= widest:
        return pixels
    size = (widest, max(1, round(height * widest / width)))
    return np.asarray(cv2.resize(pixels, size, interpolation=cv2.INTER_AREA), np.uint8)


def _image(pixels: Pixels, kind: str, options: list[int], *, alternative: str) -> Html:
    good, data = cv2.imencode(f".{'jpg' if kind == 'jpeg' else kind}", pixels, options)
    if not good:
        raise ValueError(f"expected a picture that can be stored as {kind}, got one of shape {pixels.shape}")
    source = f"data:image/{kind};base64,{base64.b64encode(data.tobytes()).decode()}"
    height, width = pixels.shape[:2]
    return void("img", src=Html(source), alt=alternative, width=width, height=height)


def gradient() -> str:
    """The colours of the map from low to high, as CSS has it."""
    stops = colour_map(np.linspace(0, 1, 9).astype(np.float64))[:, ::-1].tolist()
    return f"linear-gradient(90deg,{','.join('rgb({},{},{})'.format(*stop) for stop in stops)})"
