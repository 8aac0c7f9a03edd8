"""What can be chosen for playing and converting: one set for the command line, the node and the tests."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from fieldplay_messages.feeds.pictures import Images


@dataclass(frozen=True, kw_only=True)
class Selection:
    """Which part of an archive, and in which dress."""

    start_s: float = 0.0
    duration_s: float | None = None
    topics: str = ""
    images: Images | None = None
    rectify: bool = False  # also rectified pictures, of every camera whose numbers are known
    namespace: str | None = None
    frame_prefix: str = ""
    map_tf: bool = False  # map -> odom in the static tree, for an odometry that starts with the selection
    joints_tf: bool = False  # the frames that joint states alone determine
    derived: bool = False  # also what the kinematics nodes would publish
    tf: Mapping[str, bool] = field(default_factory=dict)  # switches of the dataset's tf; see moving_frames
    parameters: Mapping[str, Any] = field(default_factory=dict)
