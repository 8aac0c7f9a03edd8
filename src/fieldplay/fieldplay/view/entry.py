"""What becomes of records in Rerun: columns of an entity, with the rows that have them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True, kw_only=True, eq=False)
class Entry:
    """Columns of an entity: `below` its topic, or of the full path `entity`; of all rows, or of some (k,).

    `still` are archetypes that hold for all times. What `is_placed` lies in the frame of its record, or in `frame`.
    """

    columns: Any
    below: str = ""
    entity: str = ""
    rows: NDArray[np.intp] | None = None
    still: tuple[Any, ...] = ()
    is_placed: bool = False
    frame: str = ""


def split(columns: Any, lengths: ArrayLike) -> Any:
    """Columns of which each row has its own number of values."""
    return columns.partition(np.asarray(lengths, np.int64))
