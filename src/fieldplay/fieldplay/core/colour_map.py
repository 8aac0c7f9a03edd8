"""Numbers as colours that look evenly spaced, to the colour-blind too."""

import cv2
import numpy as np
from numpy.typing import NDArray


def colour_map(values: NDArray[np.float64], kind: int = cv2.COLORMAP_VIRIDIS) -> NDArray[np.uint8]:
    """Colours (..., 3) in BGR of shares from 0 to 1 (...), dark to light."""
    levels = np.clip(np.nan_to_num(values) * 255, 0, 255).astype(np.uint8)
    if not levels.size:  # which OpenCV makes nothing of
        return np.zeros((*levels.shape, 3), np.uint8)
    return np.asarray(cv2.applyColorMap(levels.reshape(-1, 1), kind), np.uint8).reshape(*levels.shape, 3)
