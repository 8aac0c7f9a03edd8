"""The truth behind a sample: where the robot was, beside the archive and never in it."""

import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldplay_samples.motion.frames import Floats, quaternion_from_rotation
from fieldplay_samples.writers.tables import TextColumn, columns, write_table

POSE = ("x_m", "y_m", "z_m", "qx", "qy", "qz", "qw", "vx_m_s", "vy_m_s", "vz_m_s")


@dataclass(frozen=True, eq=False, kw_only=True)
class SampleTruth:
    """Poses map_T_base (n, 4, 4) and velocities (n, 3) in the map's axes (east north up) at stamps (n,) in ns.

    `others` are more columns (n,), with their units in their names. `arrays` are more files of truth by name, each of
    arrays by name that have stamps of their own.
    """

    stamp_ns: NDArray[np.int64]
    map_T_base: Floats
    velocity_m_s: Floats
    others: Mapping[str, Floats] = field(default_factory=dict)
    arrays: Mapping[str, Mapping[str, NDArray[Any]]] = field(default_factory=dict)


def write_truth(path: Path, truth: SampleTruth) -> None:
    """Write the truth as a table with a row of names: stamp_ns, position, quaternion x y z w, velocity, the others."""
    position, rotation = truth.map_T_base[:, :3, 3], truth.map_T_base[:, :3, :3]
    pose = np.hstack([position, quaternion_from_rotation(rotation), truth.velocity_m_s])
    stamps = TextColumn(name="stamp_ns", values=truth.stamp_ns)
    others = [TextColumn(name=name, values=values, decimals=9) for name, values in truth.others.items()]
    write_table(path, [stamps, *columns(POSE, pose, 9), *others])


def write_arrays(folder: Path, truth: SampleTruth) -> None:
    """Write further files of truth into a folder, each as `<name>.npz`."""
    for name, arrays in truth.arrays.items():
        with zipfile.ZipFile(folder / f"{name}.npz", "w", zipfile.ZIP_DEFLATED) as archive:
            for key, values in arrays.items():
                with archive.open(f"{key}.npy", "w") as stream:
                    np.save(stream, values)
