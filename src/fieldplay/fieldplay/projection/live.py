"""What the node `overlay` is told to do live what `fieldplay project` does for one picture."""

from typing import Any

from fieldplay.projection.errors import ProjectionWordError
from fieldplay.projection.projection import own_transform
from fieldplay.projection.sensors import SCAN, camera_stream, laser_stream
from fieldplay_archive.spec import DatasetSpec


def overlay_parameters(spec: DatasetSpec, pair: str, *, images: str) -> dict[str, Any]:
    """The node's parameters for a pair `LASER,CAMERA`, the pictures sent as raw, compressed or both."""
    laser, comma, camera = (word.strip() for word in pair.partition(","))
    if not (laser and comma and camera):
        raise ProjectionWordError(f"overlay: expected LASER,CAMERA, got '{pair}'")
    ids = {stream.id for stream in spec.streams}
    points, pictures = laser_stream(spec, laser, ids), camera_stream(spec, camera, ids)
    parameters: dict[str, Any] = {
        "scan" if points.type == SCAN else "cloud": points.topic,
        "image": f"{pictures.topic}/compressed" if images == "compressed" else pictures.topic,
    }
    own = own_transform(spec, pictures.frame, points.frame)
    return parameters if own is None else {**parameters, "camera_t_sensor": own.reshape(-1).tolist()}
