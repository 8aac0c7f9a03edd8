"""Archives of field robots, and rosbag2 bags: what a program or a notebook wants of them.

    import fieldplay

    with fieldplay.open("traverse_5.zip") as data:
        imu = data.records("imu/data", start=10, duration=5)
        print(imu["stamp_ns"], imu["angular_velocity_rad_s"])

docs/python.md explains it. What is named here is for everybody and stays; every other module is private.
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
    """Open an archive of any dataset that fieldplay knows, or any bag; a context manager.

    Opening lists the files, parses tables and indexes logs; images and clouds are read later. Importing fieldplay loads
    nothing else, so the first call also imports the libraries.

    Args:
        path: a folder or a file: an archive as downloaded, packed or not, or a bag of ROS 2 or ROS 1.
        dataset: the name of the dataset (`fieldplay list`), where the files do not tell; then a bag, too, is read as
            one.
        parameters: parameters of the dataset that differ from their defaults, by name (docs/datasets/).
        derived: also offer what the nodes would compute: wheel poses, odometry, transforms of joints.

    Returns:
        The open recording. Close it, or use it in a `with` statement: files are held open and some rows are on disk.

    Raises:
        UserError: nothing can be opened there, or nothing in it can be read; the message says why.
        UsageError: a parameter is unknown or has a value that it cannot have.

    Example:
        with fieldplay.open("etna", parameters={"gyro_unit": "rad/s"}) as data:
            imu = data.records("imu/data", start=10, duration=5)
    """
    from fieldplay.recording import open_recording

    return open_recording(Path(path), dataset, parameters, derived=derived)


def __getattr__(name: str) -> Any:
    """The public names are loaded when they are asked for: importing fieldplay costs nothing."""
    from importlib import import_module

    if name not in _PLACES:
        raise AttributeError(f"module 'fieldplay' has no attribute '{name}'")
    return getattr(import_module(_PLACES[name]), name)
