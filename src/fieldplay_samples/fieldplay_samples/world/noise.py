"""Random fields that repeat without a seam: noise of given wavelengths, made in the frequency domain."""

import numpy as np
from numpy.typing import NDArray
from scipy import fft

Array = NDArray[np.float64]
Single = NDArray[np.float32]


def periodic_noise(
    rng: np.random.Generator, cells: int, *, longest: float, shortest: float, roughness: float = 1.0
) -> Array:
    """A field (cells, cells) of mean 0 and rms 1, periodic, with wavelengths in cells from shortest to longest.

    The amplitude of a wavelength grows with its power `roughness`; the band fades over a third of an octave.
    """
    spectrum = fft.rfft2(rng.standard_normal((cells, cells)).astype(np.float32))
    along, across = fft.fftfreq(cells).astype(np.float32), fft.rfftfreq(cells).astype(np.float32)
    frequency = np.hypot(along[:, None], across[None, :])
    frequency[0, 0] = 1.0
    octaves = np.log2(frequency)
    band = _step(octaves + np.float32(np.log2(longest))) * _step(np.float32(-np.log2(shortest)) - octaves)
    band[0, 0] = 0.0
    field: Array = fft.irfft2(spectrum * (band * frequency ** np.float32(-1.0 - roughness)), s=(cells, cells))
    field = field.astype(np.float64)
    return np.asarray((field - field.mean()) / field.std())


def _step(octaves: Single) -> Single:
    """From 0 to 1 around the octave 0, half of it there."""
    return np.asarray(1 / (1 + np.exp(-np.clip(12 * octaves, -60, 60))))
