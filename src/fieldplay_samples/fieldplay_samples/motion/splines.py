"""Splines of degree five through samples, with their derivatives; the one place that asks SciPy for them."""

from dataclasses import dataclass

import numpy as np
from scipy.interpolate import BSpline, make_interp_spline

from fieldplay_samples.motion.frames import Floats, floats

DEGREE = 5


@dataclass(frozen=True, eq=False, kw_only=True)
class Spline:
    """Values over time with four continuous derivatives; before its first and after its last time it stands still."""

    first_s: float
    last_s: float
    curves: tuple[BSpline, ...]  # the function and its derivatives

    def at(self, time_s: Floats, order: int = 0) -> Floats:
        """The function at the times (n,), or its derivative of an order up to 3: (n,) or (n, m) as the samples were."""
        inside = np.clip(time_s, self.first_s, self.last_s)
        value = floats(self.curves[order](inside))
        if order:
            value[(time_s < self.first_s) | (time_s > self.last_s)] = 0.0
        return value


def spline_through(time_s: Floats, values: Floats) -> Spline:
    """The spline through the samples (n,) or (n, m) at n increasing times (n,), at least six."""
    curve = make_interp_spline(time_s, values, k=DEGREE)
    curves = (curve, *(curve.derivative(order) for order in (1, 2, 3)))
    return Spline(first_s=float(time_s[0]), last_s=float(time_s[-1]), curves=curves)


def integral_of(spline: Spline) -> Spline:
    """The integral of a spline from its first time on; the spline is its first derivative."""
    return Spline(
        first_s=spline.first_s, last_s=spline.last_s, curves=(spline.curves[0].antiderivative(), *spline.curves[:3])
    )
