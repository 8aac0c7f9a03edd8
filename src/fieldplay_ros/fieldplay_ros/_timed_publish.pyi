from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

def publish(
    function: int,
    acknowledged: int,
    publishers: NDArray[np.uint64],
    counters: NDArray[np.int64],
    feeds: NDArray[np.int32],
    messages: Sequence[bytes | memoryview],
    due_ns: NDArray[np.int64],
    state: NDArray[np.int64],
    wake: int,
    start: int,
    /,
) -> tuple[int, int, int, int]: ...
