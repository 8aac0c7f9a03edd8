"""Random fields that repeat without a seam: noise of given wavelengths, made in the frequency domain."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def periodic_noise(
    rng: np.random.Generator, cells: int, *, longest: float, shortest: float, roughness: float = 1.0
) -> Array:
    """A field (cells, cells) of mean 0 and rms 1, periodic, with wavelengths in cells from shortest to longest.

    The amplitude of a wavelength grows with its power `roughness`; the band fades over a third of an octave.
    """
    spectrum = np.fft.rfft2(rng.standard_normal((cells, cells)))
    frequency = np.hypot(np.fft.fftfreq(cells)[:, None], np.fft.rfftfreq(cells)[None, :])
    frequency[0, 0] = 1.0
    octaves = np.log2(frequency)
    band = _step(octaves + np.log2(longest)) * _step(-np.log2(shortest) - octaves)
    band[0, 0] = 0.0
    field: Array = np.fft.irfft2(spectrum * band * frequency ** (-1.0 - roughness), s=(cells, cells))
    return np.asarray((field - field.mean()) / field.std())


def _step(octaves: Array) -> Array:
    """From 0 to 1 around the octave 0, half of it there."""
    return np.asarray(1 / (1 + np.exp(-np.clip(12 * octaves, -60, 60))))
