"""Samples made once and kept from one run of the tests to the next, with their truth and the bag made from them."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fieldplay.convert.conversion import BagOptions, convert
from fieldplay.datasets.registry import open_dataset
from fieldplay.topics.selection import Selection
from fieldplay_samples.write_sample import SampleOptions, write_sample

Array = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Sampled:
    """An archive, what is true of it (columns by name), and its bag with all that is derived."""

    archive: Path
    bag: Path
    truth: dict[str, Array]


def sampled(dataset: str, folder: Path, options: SampleOptions) -> Sampled:
    """The sample of these options, from the folder if it is there and still what the writer would make."""
    folder.mkdir(parents=True, exist_ok=True)
    archive, bag = folder / dataset, folder / f"{dataset}_bag"
    with alone(folder / "lock"):
        result = write_sample(dataset, archive, replace(options, workers=1))  # further ones cost more to start
        if not result.reused or not is_of_now(bag):
            with open_dataset(archive) as opened:
                convert(opened, bag, Selection(derived=True), BagOptions(overwrite=True))
    with result.truth.open() as lines:
        names = next(line for line in lines if not line.startswith("#")).strip().split(",")
        values = np.loadtxt(lines, delimiter=",", ndmin=2)
    return Sampled(archive=archive, bag=bag, truth=dict(zip(names, values.T, strict=True)))


def is_of_now(bag: Path) -> bool:
    """Whether a bag is there that tells of its dataset."""
    metadata = bag / "metadata.yaml"
    return metadata.exists() and "fieldplay.dataset: " in metadata.read_text()


@contextmanager
def alone(path: Path) -> Iterator[None]:
    """Tests run side by side: one makes the sample, the others wait for it."""
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
