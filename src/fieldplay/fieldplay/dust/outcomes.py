"""What may become of a beam of a laser."""

import numpy as np
from numpy.typing import NDArray

NO_RETURN, OK, IN_FRONT, ISOLATED, UNKNOWN = range(5)
OUTCOMES = 5

Outcomes = NDArray[np.uint8]
