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

    `dataset` names the dataset where the files do not tell, `parameters` are its own (docs/datasets/). With `derived`
    an archive also has what the nodes would compute. UserError says what cannot be opened, and why.
    """
    from fieldplay.recording import open_recording

    return open_recording(Path(path), dataset, parameters, derived=derived)


def __getattr__(name: str) -> Any:
    """The public names are loaded when they are asked for: importing fieldplay costs nothing."""
    from importlib import import_module

    if name not in _PLACES:
        raise AttributeError(f"module 'fieldplay' has no attribute '{name}'")
    return getattr(import_module(_PLACES[name]), name)
