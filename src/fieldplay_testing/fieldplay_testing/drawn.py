"""What a page's figures show, as numbers: lines, points and labels of their SVG, in its units with y downwards."""

import base64
import re

import cv2
import numpy as np


def drawn_lines(markup: str, kind: str) -> list[np.ndarray]:
    """The points (n, 2) of each line of a kind such as "line s0", those that are broken as several."""
    paths = re.findall(rf'<g class="{kind}">\s*<path d="([^"]*)"', markup)
    runs = [run for path in paths for run in path.split("M")[1:]]
    return [np.array(re.findall(r"-?[\d.]+", run), float).reshape(-1, 2) for run in runs]


def drawn_points(markup: str, kind: str) -> np.ndarray:
    """The points (n, 2) of markers of a kind such as "dots s0"."""
    groups = re.findall(rf'<g class="{kind}">(.*?)</g>\s*</g>', markup, flags=re.DOTALL)
    places = [position for group in groups for position in re.findall(r'<use [^>]*x="([-\d.]+)" y="([-\d.]+)"', group)]
    return np.array(places, float).reshape(-1, 2)


def drawn_labels(markup: str) -> list[str]:
    """The texts within figures, as on their axes."""
    return re.findall(r"<text [^>]*>([^<]*)</text>", markup)


def drawn_image(markup: str, label: str) -> np.ndarray:
    """The image (rows, columns, 4) in RGBA that lies below the figure whose label starts so."""
    (data,) = re.findall(rf'aria-label="{re.escape(label)}[^>]*><image href="data:image/\w+;base64,([^"]*)"', markup)
    pixels = cv2.imdecode(np.frombuffer(base64.b64decode(data), np.uint8), cv2.IMREAD_UNCHANGED)
    assert pixels is not None
    opaque = np.full((*pixels.shape[:2], 1), 255)
    return np.concatenate([pixels[..., 2::-1], pixels[..., 3:], opaque], axis=-1)[..., :4].astype(float)
