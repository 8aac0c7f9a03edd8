"""What is shown where: config/views/<name>.yaml, and what fits any data where it says nothing."""

import xml.etree.ElementTree as ElementTree
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import rerun as rr
import rerun.blueprint as rrb

from fieldplay.core.resources import config_folders
from fieldplay.core.yaml_safe import value_of_yaml
from fieldplay.datasets.spec import build
from fieldplay.geometry.transforms import quaternion_from_rotation, rotation_from_fixed_xyz
from fieldplay.geometry.urdf_model import model_from_text
from fieldplay.messages.message_batches import Topic
from fieldplay.messages.point_clouds import CLOUD
from fieldplay.streams.image_topics import COMPRESSED, RAW
from fieldplay.topics.quantities import QUANTITIES
from fieldplay.view.rerun_stream import DEFECTS, TIMELINE, FrameTree

GREY = (0.6, 0.6, 0.6, 1.0)
ROBOT = "robot"
FOLDER = "views"
FIX, SCAN, DIAGNOSTICS = "sensor_msgs/msg/NavSatFix", "sensor_msgs/msg/LaserScan", "diagnostic_msgs/msg/DiagnosticArray"
CURVES = {*QUANTITIES, "sensor_msgs/msg/JointState", "std_msgs/msg/Float64MultiArray"}
WITH_TRAJECTORY = (
    "nav_msgs/msg/Odometry",
    "geometry_msgs/msg/PoseStamped",
    "geometry_msgs/msg/PoseWithCovarianceStamped",
)
MAX_CAMERAS, MAX_PLOTS = 4, 12
SPACE_SHARE, CAMERA_SHARE, PLOT_SHARE = 3.0, 1.4, 0.5


# The shapes of a robot's model, each in the frame of its link: tf moves them.


def shapes_of_model(text: str, prefix: str = "") -> Iterator[tuple[str, str, Any]]:
    """The shapes in the text of a URDF: where they go, their frame, and what they are. Meshes are left out."""
    model_from_text(text)  # ValueError describes the error
    robot = ElementTree.fromstring(text)
    named = {material.get("name", ""): _colour(material) for material in robot.findall("material")}
    for link in robot.findall("link"):
        name = link.get("name", "")
        for number, visual in enumerate(link.findall("visual")):
            shape = _shape(visual, named)
            if shape is not None:
                yield rr.new_entity_path([ROBOT, name, str(number)]), prefix + name, shape


def send_robot(stream: rr.RecordingStream, text: str, known: Collection[str] = (), prefix: str = "") -> None:
    """The model in the text of a URDF; the joints of frames that are not `known` stay as they are at rest."""
    for entity, frame, shape in shapes_of_model(text, prefix):
        stream.log(entity, rr.CoordinateFrame(frame), shape, static=True)
    for entity, edge in edges_of_model(text, known, prefix) if known else ():
        stream.log(entity, edge, static=True)


def edges_of_model(text: str, known: Collection[str], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Unpublished joints at rest, so that their links have a pose."""
    for joint in model_from_text(text).joints:
        if prefix + joint.child not in known:
            rest = joint.parent_t_zero
            yield rr.new_entity_path([ROBOT, joint.child]), rr.Transform3D(
                translation=rest[:3, 3], mat3x3=rest[:3, :3],
                parent_frame=prefix + joint.parent, child_frame=prefix + joint.child,
            )  # fmt: skip


def _shape(visual: ElementTree.Element, named: dict[str, tuple[float, ...] | None]) -> Any:
    origin, material = visual.find("origin"), visual.find("material")
    position = _numbers(origin, "xyz", (0.0, 0.0, 0.0))
    orientation = quaternion_from_rotation(rotation_from_fixed_xyz(_numbers(origin, "rpy", (0.0, 0.0, 0.0))))
    own = _colour(material) if material is not None else None
    colour = own or named.get("" if material is None else material.get("name", "")) or GREY
    common = {
        "centers": [position], "quaternions": [rr.Quaternion(xyzw=orientation)], "fill_mode": "solid",
        "colors": [tuple(round(255 * part) for part in colour)],
    }  # fmt: skip
    geometry = visual.find("geometry")
    if geometry is None or not len(geometry):
        return None
    solid = geometry[0]
    if solid.tag == "box":
        return rr.Boxes3D(sizes=[_numbers(solid, "size", (1.0, 1.0, 1.0))], **common)
    if solid.tag == "cylinder":
        length, radius = _numbers(solid, "length", (1.0,)), _numbers(solid, "radius", (1.0,))
        return rr.Cylinders3D(lengths=length, radii=radius, **common)
    if solid.tag == "sphere":
        return rr.Ellipsoids3D(radii=_numbers(solid, "radius", (1.0,)), **common)
    return None


def _colour(material: ElementTree.Element) -> tuple[float, ...] | None:
    colour = material.find("color")
    return None if colour is None else _numbers(colour, "rgba", GREY)


def _numbers(element: ElementTree.Element | None, name: str, default: tuple[float, ...]) -> tuple[float, ...]:
    text = "" if element is None else element.get(name, "")
    return tuple(np.array(text.split(), np.float64).tolist()) if text else default


@dataclass(frozen=True, kw_only=True)
class CameraView:
    """An image, with the clouds and scans that are drawn into it."""

    picture: str
    points: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class PlotView:
    """Curves that share a plot: topics, or a part of their numbers."""

    title: str
    of: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class EyeView:
    """From where the space is seen at first, and what is in its middle, in m in the root."""

    position: tuple[float, float, float]
    target: tuple[float, float, float] = (0.0, 0.0, 0.0)


@dataclass(frozen=True, kw_only=True)
class ViewSpec:
    """The file of a view. What it leaves empty is found in the data; `root` is the first of these frames that is."""

    root: tuple[str, ...] = ()
    eye: EyeView | None = None
    cameras: tuple[CameraView, ...] = ()
    map: tuple[str, ...] = ()
    plots: tuple[PlotView, ...] = ()


def view_files() -> dict[str, Path]:
    """The views that there are, by the namespace of the topics that they are for."""
    files: dict[str, Path] = {}
    for folder in config_folders():
        for path in sorted((folder / FOLDER).glob("*.yaml")):
            files.setdefault(path.stem, path)
    return files


def view_of(topics: Sequence[Topic], dataset: str = "", namespace: str = "") -> tuple[ViewSpec, str]:
    """The view of a dataset, or of a bag whose topics stand in its namespace; and that namespace."""
    files = view_files()
    for name in files:
        if name == dataset or (not dataset and any(topic.name.startswith(f"/{name}/") for topic in topics)):
            content = value_of_yaml(files[name].read_text("utf-8"))
            return build(ViewSpec, content, str(files[name])), namespace or name
    return ViewSpec(), namespace


class Layout:
    """A view on the topics that there are."""

    def __init__(self, spec: ViewSpec, namespace: str, topics: Sequence[Topic]) -> None:
        self._spec, self._topics = spec, topics
        self._types = {topic.name: topic.msgtype for topic in topics}
        self._before = f"/{namespace.strip('/')}/" if namespace.strip("/") else "/"

    def root(self, tree: FrameTree) -> str:
        """The frame in which all is drawn."""
        known = {*tree.parents, *tree.parents.values()}
        return next((frame for frame in self._spec.root if frame in known), tree.root())

    def blueprint(self, root: str, *, is_followed: bool = False) -> rrb.Blueprint:
        """Cameras on the left, space between them and the map, plots and words below; live data are followed."""
        above = [*self._cameras(), self._space(root), *self._maps()]
        fractions = [SPACE_SHARE if isinstance(part, rrb.Spatial3DView) else CAMERA_SHARE for part in above]
        parts: list[Any] = [rrb.Horizontal(*above, column_shares=fractions)]
        below = [*self._plots(), *self._log_views()]
        if below:
            parts.append(rrb.Tabs(*below, active_tab=0))
        content = rrb.Vertical(*parts, row_shares=[1.0, PLOT_SHARE][: len(parts)])
        state = "following" if is_followed else "playing"
        time = rrb.TimePanel(state="collapsed", timeline=TIMELINE, play_state=state)
        return rrb.Blueprint(content, time, collapse_panels=True)

    def _space(self, root: str) -> rrb.Spatial3DView:
        flat = [image for image in self._image_topics() if not self._has_camera(image)]
        trajectories = [topic.name for topic in self._topics if topic.msgtype in WITH_TRAJECTORY]
        options: dict[str, Any] = {}
        if root:
            axes = rr.components.ViewCoordinates.FLU
            options["spatial_information"] = rrb.SpatialInformation(root, axes=axes)
        eye = self._spec.eye
        if eye is not None and root in self._spec.root[:1]:
            options["eye_controls"] = rrb.EyeControls3D(position=eye.position, look_target=eye.target)
        return rrb.Spatial3DView(
            name=root or "space",
            contents=["+ /**", *(f"- {image}/**" for image in flat)],
            overrides={f"{name}/way": _until_now() for name in trajectories},
            **options,
        )

    def _cameras(self) -> list[Any]:
        views = []
        for camera in (*self._spec.cameras, *([] if self._spec.cameras else self._default_cameras())):
            image = self._image_topic(camera.picture)
            if image:
                points = [self._full(name) for name in camera.points if self._full(name) in self._types]
                if not self._has_camera(image):
                    points = []
                views.append(rrb.Spatial2DView(
                    origin=image, name=camera.picture.removeprefix("/"), contents=["$origin/**", *points]
                ))  # fmt: skip
        return [rrb.Vertical(*views[:MAX_CAMERAS])] if views else []

    def _default_cameras(self) -> Iterator[CameraView]:
        points = tuple(topic.name for topic in self._topics if topic.msgtype in (CLOUD, SCAN))
        for image in self._image_topics():
            yield CameraView(picture=image, points=points)

    def _maps(self) -> list[Any]:
        topics = [topic.name for topic in self._topics if topic.msgtype == FIX]
        chosen = [self._full(name) for name in self._spec.map if self._full(name) in topics] or topics
        return [rrb.MapView(origin="/", contents=chosen, name="map")] if chosen else []

    def _plots(self) -> list[Any]:
        plots = self._spec.plots or tuple(
            PlotView(title=topic.name, of=(topic.name,)) for topic in self._topics if topic.msgtype in CURVES
        )
        views = []
        for plot in plots:
            there = [self._full(name) for name in plot.of if self._holds(self._full(name))]
            if there:
                views.append(rrb.TimeSeriesView(name=plot.title, origin="/", contents=[f"{name}/**" for name in there]))
        return views[:MAX_PLOTS]

    def _log_views(self) -> list[Any]:
        diagnostics = [topic.name for topic in self._topics if topic.msgtype == DIAGNOSTICS]
        return [rrb.TextLogView(name="log", origin="/", contents=[*diagnostics, f"/{DEFECTS}"])]

    def _image_topics(self) -> list[str]:
        return [topic.name for topic in self._topics if topic.msgtype in (RAW, COMPRESSED)]

    def _image_topic(self, name: str) -> str:
        """The topic of an image, raw or compressed; "" where there is none."""
        full = self._full(name)
        return next((topic for topic in (full, f"{full}/compressed") if topic in self._types), "")

    def _has_camera(self, image: str) -> bool:
        return f"{image.removesuffix('/compressed').rpartition('/')[0]}/camera_info" in self._types

    def _holds(self, name: str) -> bool:
        """Whether a name is a topic, or a part of one, or holds some."""
        return any(
            name == topic or name.startswith(f"{topic}/") or topic.startswith(f"{name}/") for topic in self._types
        )

    def _full(self, name: str) -> str:
        return name if name.startswith("/") else self._before + name


def _until_now() -> Any:
    return rrb.VisibleTimeRanges(
        timeline=TIMELINE,
        start=rrb.TimeRangeBoundary.infinite(),
        end=rrb.TimeRangeBoundary.cursor_relative(seconds=0),
    )
