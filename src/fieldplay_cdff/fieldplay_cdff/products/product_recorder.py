"""Stores the outputs of a pipeline that its description declares as products, offline and live alike."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from itertools import groupby
from typing import Any

import numpy as np

from fieldplay.core.timestamps import NS_PER_S
from fieldplay.geometry.axes import diagonal
from fieldplay.geometry.transforms import (
    Array,
    inverse_from_transform,
    quaternion_from_rotation,
    rotation_from_vector,
    transform_from_rotation,
)
from fieldplay.kinematics.computation import TF
from fieldplay_cdff.descriptors.model import ProductMark
from fieldplay_cdff.io.outputs import VARIANCE, OutTopics
from fieldplay_cdff.pipeline.pipeline_graph import POSES, RunnableGraph
from fieldplay_cdff.pipeline.pipeline_run import PipelineOutput
from fieldplay_cdff.products.product import (
    Extent,
    FrameLink,
    InputSpan,
    Producer,
    Product,
    SensorPose,
    StoreError,
    TypedMessage,
    digest_of,
)
from fieldplay_cdff.products.store import ProductStore
from fieldplay_cdff.steps.values import (
    Cloud,
    ElevationGrid,
    PoseEstimate,
    State,
)

QUALITY = "quality"


def producer_of(graph: RunnableGraph) -> Producer:
    """The description of a pipeline in the records of its products."""
    return Producer(
        dfpc=graph.name,
        implementation=graph.implementation,
        configuration=graph.digest,
        version=version("fieldplay_cdff"),
    )


@dataclass(frozen=True, kw_only=True)
class OutputSet:
    """The outputs at one stamp, by port; the frame of the images, and when they are stored."""

    stamp_ns: int
    values: Mapping[str, Any]
    camera: str
    stored_ns: int


@dataclass(frozen=True, kw_only=True)
class Anchor:
    """The pose of a camera in a known frame at a time, which a chain of frames needs.

    `root` is the frame, such as map, `root_t_camera` (4, 4) the camera in it; `world` identifies that map.
    """

    root: str
    root_t_camera: Array
    world: str


Anchoring = Callable[[int, str], Anchor | None]  # of a stamp in ns and the images' frame


class ProductKeeper:
    """Puts the outputs that a pipeline's description marks into a store, each with its record.

    `sources` are the topics of the inputs by port; `full_name` is that of a topic. What was held back for its period is
    kept at the end. `anchoring` has the pose of the camera at a time, once it is known: from then on records have a
    chain from that frame to the scene. Without it, the scene of each run is a world of its own.
    """

    def __init__(
        self,
        store: ProductStore,
        graph: RunnableGraph,
        outputs: OutTopics,
        sources: Mapping[str, str],
        full_name: Callable[[str], str] = str,
        anchoring: Anchoring | None = None,
    ) -> None:
        if not graph.products:
            raise StoreError(f"{graph.name} marks no output as a product, so there is nothing to keep")
        self.stored = 0
        self._store, self._marks, self._outputs = store, graph.products, outputs
        self._producer, self._full_name = producer_of(graph), full_name
        self._sources = {port: full_name(topic) for port, topic in sources.items()}
        kinds = {name: kind for name, kind in graph.outputs.items() if name not in graph.bodies}
        self._poses = [name for name, kind in kinds.items() if kind in POSES]  # of the sensor
        self._spans: dict[str, dict[str, tuple[int, int]]] = {port: {} for port in self._marks}
        self._last_ns: dict[str, int] = {}
        self._held: dict[str, OutputSet] = {}
        self._anchoring, self._chain, self._world = anchoring, tuple[FrameLink, ...](), ""
        self._start_ns: int | None = None

    def receive_input(self, port: str, stamp_ns: int) -> None:
        """Receive an input at a port."""
        self._start_ns = stamp_ns if self._start_ns is None else self._start_ns
        for spans in self._spans.values():
            first_ns, last_ns = spans.get(port, (stamp_ns, stamp_ns))
            spans[port] = min(first_ns, stamp_ns), max(last_ns, stamp_ns)

    def keep(self, outputs: Sequence[PipelineOutput], camera: str, now_ns: int | None = None) -> None:
        """Store the outputs that are declared as products; `now_ns` is the clock, by default that of the data."""
        for stamp_ns, group in groupby(outputs, key=lambda each: each.stamp_ns):
            values = {each.port: each.value for each in group}
            output_set = OutputSet(
                stamp_ns=stamp_ns, values=values, camera=camera, stored_ns=stamp_ns if now_ns is None else now_ns
            )
            self._anchor(output_set)
            for port, mark in self._marks.items():
                if port in values:
                    self._take(port, mark, output_set)

    def _anchor(self, outputs: OutputSet) -> None:
        """Find the chain of frames to the scene, with the first pose of which it is known."""
        if self._chain or self._anchoring is None:
            return
        transform = next((found for name in self._poses if (found := _transform(outputs.values.get(name)))), None)
        if transform is None:
            return
        anchor = self._anchoring(outputs.stamp_ns, outputs.camera)
        if anchor is not None:
            root_t_scene = anchor.root_t_camera @ inverse_from_transform(transform[0])
            self._chain = (FrameLink.of_transform(anchor.root, self._outputs.scene, root_t_scene),)
            self._world = anchor.world

    def _take(self, port: str, mark: ProductMark, outputs: OutputSet) -> None:
        since_ns = outputs.stamp_ns - self._last_ns.get(port, outputs.stamp_ns)
        if port in self._last_ns and 0 <= since_ns < float(mark.period or 0) * NS_PER_S:
            self._held[port] = outputs
            return
        self._store_product(port, outputs)

    def finish(self) -> None:
        """Store the held outputs: the last of each."""
        for port, outputs in list(self._held.items()):
            self._store_product(port, outputs)

    def _store_product(self, port: str, outputs: OutputSet) -> None:
        value, mark = outputs.values[port], self._marks[port]
        out = self._outputs.messages(port, value, outputs.stamp_ns, outputs.camera)
        types = self._outputs.topics()
        own = [(each, types[each.topic]) for each in out if each.topic != TF]
        messages = [TypedMessage(self._full_name(each.topic), msgtype, each.data) for each, msgtype in own]
        if not messages:
            raise StoreError(f"{port} is a {self._outputs.ports.get(port)}, which no message holds: it cannot be kept")
        pose = next((pose for name in self._poses if (pose := _pose_of(outputs.values.get(name)))), None)
        quality = outputs.values.get(QUALITY)
        is_image = self._outputs.ports[port] == "Frame"
        product = Product(
            kind=mark.kind,
            stamp_ns=outputs.stamp_ns,
            stored_ns=outputs.stored_ns,
            frame=outputs.camera if is_image else self._outputs.scene,
            messages=tuple((each.topic, each.msgtype) for each in messages),
            size=sum(len(each.data) for each in messages),
            digest=digest_of(messages),
            producer=self._producer,
            inputs={
                name: InputSpan(
                    topic=self._sources.get(name, ""), first_ns=first_ns, last_ns=min(last_ns, outputs.stamp_ns)
                )
                for name, (first_ns, last_ns) in self._spans[port].items()
            },
            pose=pose,
            extent=_extent_of(value, pose),
            quality=float(quality) if isinstance(quality, int | float) and np.isfinite(quality) else None,
            chain=self._chain,
            world=self._world or self._own_world(outputs),
        )
        self._store.add(product, messages)
        self._held.pop(port, None)
        self._last_ns[port] = outputs.stamp_ns
        self._spans[port] = {  # of what is there already of the next
            name: (last_ns, last_ns) for name, (_, last_ns) in self._spans[port].items() if last_ns > outputs.stamp_ns
        }
        self.stored += 1

    def _own_world(self, outputs: OutputSet) -> str:
        """The world of a run whose scene nothing ties to another frame: the same input has the same."""
        start_ns = outputs.stamp_ns if self._start_ns is None else self._start_ns
        return f"{self._outputs.scene} from {start_ns / NS_PER_S:.3f} s"


def _transform(value: Any) -> tuple[Array, Array] | None:
    """The pose (4, 4) and its covariance (6, 6) from the output of a pose port."""
    if isinstance(value, PoseEstimate):
        return value.pose, value.covariance
    if isinstance(value, State):
        order = [3, 4, 5, 0, 1, 2]
        pose = transform_from_rotation(rotation_from_vector(value.values[:3]), value.values[3:6])
        return pose, value.covariance[:6, :6][np.ix_(order, order)]
    return (value, diagonal(VARIANCE)) if isinstance(value, np.ndarray) and value.shape == (4, 4) else None


def _pose_of(value: Any) -> SensorPose | None:
    transform = _transform(value)
    if transform is None:
        return None
    pose, covariance = transform
    return SensorPose(
        position=tuple(pose[:3, 3].tolist()),
        orientation=tuple(quaternion_from_rotation(pose[:3, :3]).reshape(4).tolist()),
        covariance=tuple(covariance.reshape(36).tolist()),
    )


def _extent_of(value: Any, pose: SensorPose | None) -> Extent | None:
    """The bounding box of a cloud's points or a map's cells; for other outputs the position of it, or of its sensor."""
    points: Array | None = None
    if isinstance(value, Cloud):
        points = value.points[np.isfinite(value.points).all(axis=1)]
    elif isinstance(value, ElevationGrid):
        points = _corners(value)
    elif (own := _transform(value)) is not None:
        points = own[0][None, :3, 3]
    elif pose is not None:
        points = np.array(pose.position)[None]
    if points is None or not len(points):
        return None
    (x, y, z), (to_x, to_y, to_z) = points.min(axis=0).tolist(), points.max(axis=0).tolist()
    return Extent((x, y, z), (to_x, to_y, to_z))


def _corners(grid: ElevationGrid) -> Array:
    """Two opposite corners of all that a map has."""
    known = grid.count > 0
    if not known.any():
        return np.zeros((0, 3))
    rows, columns = grid.mean.shape
    first = (grid.x_m, grid.y_m, grid.lowest[known].min())
    return np.array([first, (first[0] + columns * grid.resolution_m, first[1] + rows * grid.resolution_m,
                             grid.highest[known].max())])  # fmt: skip
