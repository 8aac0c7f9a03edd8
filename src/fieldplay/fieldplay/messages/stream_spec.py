"""What of a description of a dataset concerns its messages: its streams."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

ALWAYS = "always"
SWITCH = re.compile(r"(?!map_tf$)[a-z][a-z0-9_]*_tf")  # map_tf is of the static tree


@dataclass(frozen=True, kw_only=True)
class StreamSpec:
    """A stream in a dataset's description. The order of streams there is that of messages at equal times.

    Args:
        id: what the reader calls it.
        topic: its topic below the dataset's namespace.
        type: the type of the messages.
        frame: of their headers.
        child_frame: of odometry.
        camera: of images, the entry of `cameras` that took them.
        latched: kept for late subscribers (transient local): a state rather than a measurement.
        tf: of odometry: the switch that also publishes it on /tf; `always` needs no switch.
        note: what `info` and reports say about it, where its type alone would mislead.
        units: units of fields of the message that are not SI.

    Raises:
        ValueError: `tf` is no name of a switch, or its frames are missing.
    """

    id: str
    topic: str
    type: str
    frame: str = ""
    child_frame: str = ""
    camera: str = ""
    latched: bool = False  # kept for those who come late: a state rather than a measurement
    tf: str = ""  # of odometry: it is sent on /tf too, where the switch of this name is on; `always` needs none
    note: str = ""
    units: Mapping[str, str] = field(default_factory=dict)  # of the message's fields that hold others than usual

    def __post_init__(self) -> None:
        if self.tf and not (self.tf == ALWAYS or SWITCH.fullmatch(self.tf)):
            raise ValueError(f"tf: expected '{ALWAYS}' or the name of a switch, such as nav_tf, got '{self.tf}'")
        if self.tf and not (self.frame and self.child_frame):
            raise ValueError("tf: expected a frame and a child_frame with it")
