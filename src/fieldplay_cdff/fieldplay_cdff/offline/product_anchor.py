"""The pose of a run's scene in a frame of the recording, such as map, so that products of several runs compare."""

from collections.abc import Callable

from fieldplay.core.errors import ArchiveError, UserError
from fieldplay.recording.recording import Recording
from fieldplay_cdff.io.sources import PortReader
from fieldplay_cdff.offline.elevation import frame_t_camera
from fieldplay_cdff.products.product_recorder import Anchor, Anchoring

OPTION = "--products-by"
ODOMETRY, MAP, NONE = "nav_msgs/msg/Odometry", "map", "none"
NS = 1e-9


def anchor_topic(data: Recording, chosen: str) -> str:
    """The topic of poses that ties scenes to a frame: the one that is chosen, else the first in map; "" for none."""
    if chosen:
        return "" if chosen == NONE else str(data.topic(chosen).name)
    return next((name for name, topic in data.topics.items() if topic.type == ODOMETRY and topic.frame == MAP), "")


def anchoring_of(
    data: Recording, reader: PortReader, *, chosen: str, world: str, report: Callable[[str], None]
) -> Anchoring | None:
    """Return the source of the camera's pose in the frame of a topic of poses.

    Args:
        data: the recording.
        reader: of the inputs, which knows the images' frame and the rectified ones.
        chosen: a topic, "none", or "" for the first one in map.
        world: which map that is; the same name for recordings with one map. "": a map of this recording's own.
        report: receives why a pose is not known, once.

    Raises:
        UsageError: the chosen topic is not there.
    """
    topic = anchor_topic(data, chosen)
    if not topic:
        return None
    first_ns = data.topic(topic).first_ns or 0
    issues: list[str] = []

    def anchor(stamp_ns: int, camera: str) -> Anchor | None:
        edges = [*data.tf_static, *reader.edges]
        try:
            root, root_t_camera = frame_t_camera(data, topic, camera, stamp_ns, edges, option=OPTION)
        except UserError as error:
            if not issues:
                report(f"products have no place in {data.topic(topic).frame}: {error}")
            issues.append(str(error))
            if chosen and isinstance(error, ArchiveError):
                raise
            return None
        return Anchor(root=root, root_t_camera=root_t_camera, world=world or f"{topic} from {first_ns * NS:.3f} s")

    return anchor
