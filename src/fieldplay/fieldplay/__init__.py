"""Field-robot datasets and rosbag2 bags for programs and notebooks.

    import fieldplay

    with fieldplay.open("traverse_5.zip") as data:
        imu = data.records("imu/data", start=10, duration=5)
        print(imu["stamp_ns"], imu["angular_velocity_rad_s"])

docs/python.md is the tutorial. The names in `__all__` are stable; every other module is private.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fieldplay.core.errors import Defect, UsageError, UserError
    from fieldplay.geometry.extrinsics import Edge
    from fieldplay.recording.recording import Message, Recording, TopicInfo

    FieldData = Recording
    from fieldplay.topics.selection import Selection

__all__ = [
    "Defect", "Edge", "FieldData", "Message", "Recording", "Selection", "TopicInfo", "UsageError", "UserError", "open",
]  # fmt: skip

_PLACES = {
    "Defect": "fieldplay.core.errors",
    "Edge": "fieldplay.geometry.extrinsics",
    "FieldData": "fieldplay.recording.recording",  # the name that `Recording` had
    "Message": "fieldplay.recording.recording",
    "Recording": "fieldplay.recording.recording",
    "Selection": "fieldplay.topics.selection",
    "TopicInfo": "fieldplay.recording.recording",
    "UsageError": "fieldplay.core.errors",
    "UserError": "fieldplay.core.errors",
}


def open(
    path: Path | str,
    dataset: str | None = None,
    parameters: Mapping[str, Any] | None = None,
    *,
    derived: bool = False,
) -> "Recording":
    """Open an archive of any supported dataset, or any bag; a context manager.

    Opening lists the files, parses tables and indexes logs; images and clouds are read later. The first call also
    imports the libraries, which `import fieldplay` does not.

    Args:
        path: a folder or file: an archive as downloaded, compressed or not, or a ROS 2 or ROS 1 bag.
        dataset: the name of the dataset (`fieldplay list`), if it is not detected; a bag is then read as that dataset,
            too.
        parameters: parameters of the dataset by name; the pages of the datasets explain them.
        derived: add what the nodes would compute: wheel poses, odometry, transforms of joints.

    Returns:
        The open recording. Close it, or use it in a `with` statement: it holds open files and temporary data.

    Raises:
        UserError: nothing can be opened there, or nothing in it can be read; the message explains why.
        UsageError: a parameter is unknown or has an invalid value.

    Example:
        with fieldplay.open("etna", parameters={"gyro_unit": "rad/s"}) as data:
            imu = data.records("imu/data", start=10, duration=5)
    """
    from fieldplay.recording import open_recording

    return open_recording(Path(path), dataset, parameters, derived=derived)


def __getattr__(name: str) -> Any:
    """Load public names on first use, so that importing fieldplay is cheap."""
    from importlib import import_module

    if name not in _PLACES:
        raise AttributeError(f"module 'fieldplay' has no attribute '{name}'")
    return getattr(import_module(_PLACES[name]), name)
