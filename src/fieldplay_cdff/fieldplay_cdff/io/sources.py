"""What feeds the inputs of a pipeline: topics, the cameras of their pictures, and messages as values."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from fieldplay.core.errors import ArchiveError
from fieldplay.geometry.extrinsics import Edge
from fieldplay.geometry.transforms import transform_from_rotation
from fieldplay.messages.message_batches import Part
from fieldplay.messages.record_decoder import FramedRecord, RecordDecoder
from fieldplay.messages.records import CameraInfos, Clouds, Record
from fieldplay.messages.rectification import RECTIFIED, camera_of_images
from fieldplay.projection.cameras import CameraModel
from fieldplay_cdff.io.inputs import VALUES, StereoCamera, frame_of_image
from fieldplay_cdff.io.stereo_checks import StereoFaults
from fieldplay_cdff.steps.values import Cloud

FRAME = "Frame"
INFO = "sensor_msgs/msg/CameraInfo"
SIDES = ("left", "right")
LONGEST_BASELINE_M = 5.0  # that a robot may have


@dataclass(frozen=True, kw_only=True)
class PortSource:
    """An input of a type, the topic that feeds it, and of pictures that of their CameraInfo; "" where there is none."""

    port: str
    kind: str
    topic: str
    msgtype: str
    info: str = ""

    @property
    def side(self) -> str:
        """Which camera of a pair it is; "" where it is none."""
        if self.kind != FRAME:
            return ""
        name = self.port.lower()
        return next((side for side in SIDES if name.startswith(side) or name.endswith(side)), "")


class PortMessage(NamedTuple):
    """A message for a port, whose value is not looked at yet; the stamp of its header, else when it was logged."""

    source: PortSource
    record: Record
    stamp_ns: int


class EveryNth:
    """Which sets of inputs are taken, where pictures of a set come one after the other."""

    def __init__(self, every: int) -> None:
        self._every, self._number, self._seen = every, -1, set[str]()

    def takes(self, port: str) -> bool:
        """Whether the next of a port belongs to a set that is taken."""
        if not self._seen or port in self._seen:
            self._number, self._seen = self._number + 1, set()
        self._seen.add(port)
        return self._number % self._every == 0


class PortReader:
    """Reads messages as values of ports; pictures once their cameras are known."""

    def __init__(self, sources: Sequence[PortSource], every: int = 1) -> None:
        self.sources = {source.topic: source for source in sources}
        self.cameras: dict[str, StereoCamera] = {}
        self.told: list[str] = []  # what was found out of the pictures
        self.points_lost = Counter[str]()  # of clouds, by topic: no numbers, or too far
        self.camera_frame = ""  # of the pictures of the first port, as they are rectified
        self.edges: list[Edge] = []  # from the camera to its rectified self, where that looks another way
        self._nth, self._stereo = EveryNth(every), StereoFaults()
        self._decoders: dict[str, RecordDecoder] = {}

    def hear_camera(self, source: PortSource, data: bytes, log_ns: int) -> None:
        """A CameraInfo; ArchiveError names what is wrong with it."""
        framed = self._framed(INFO, data, log_ns)
        if framed is None or not isinstance(framed.record, CameraInfos):
            raise ArchiveError(f"{source.info}: its bytes cannot be read as {INFO}")
        try:
            self.cameras[source.port] = StereoCamera(camera_of_images(source.topic, framed.record.camera))
        except ArchiveError as error:
            raise ArchiveError(f"{source.info}: {error}") from None

    @property
    def awaited(self) -> list[PortSource]:
        """Sources whose cameras are not known yet."""
        return [each for each in self.sources.values() if each.info and each.port not in self.cameras]

    def require_stereo(self) -> None:
        """ArchiveError where left and right are no rectified pair: no camera, other sizes, no baseline."""
        sides = {source.side: source for source in self.sources.values() if source.side}
        if len(sides) < len(SIDES):
            return
        for side, source in sides.items():
            if source.port not in self.cameras:
                raise ArchiveError(f"{source.topic}: expected the CameraInfo of the {side} camera beside it, got none")
        left, right = (self.cameras[sides[side].port] for side in SIDES)
        names = [sides[side].info for side in SIDES]
        sizes = [(each.info.width, each.info.height) for each in (left, right)]
        if sizes[0] != sizes[1]:
            told = " and ".join(
                f"{name} {width} x {height}" for name, (width, height) in zip(names, sizes, strict=True)
            )
            raise ArchiveError(f"expected pictures of one size, got {told}")
        if not right.baseline_m > 0:
            raise ArchiveError(
                f"{names[1]}: expected P[3] = -fx * baseline below 0 of the right camera of a rectified pair, "
                f"got a baseline of {right.baseline_m + 0.0:g} m"
            )
        if right.baseline_m > LONGEST_BASELINE_M:
            self.told.append(f"{names[1]}: a baseline of {right.baseline_m:g} m: is its P in pixels and metres?")

    def models(self) -> tuple[dict[str, CameraModel], float]:
        """The cameras as pipelines know them, `left` and `right`, and the baseline of the pair."""
        found = {each.side: self.cameras[each.port] for each in self.sources.values() if each.port in self.cameras}
        baseline_m = found["right"].baseline_m if "right" in found else 0.0
        return {side: each.camera for side, each in found.items() if side}, baseline_m

    def opened(self, topic: str, data: bytes, log_ns: int) -> PortMessage | None:
        """A message and its stamp; None where it is not taken."""
        source = self.sources[topic]
        if source.kind == FRAME and not self._nth.takes(source.port):
            return None
        framed = self._framed(source.msgtype, data, log_ns)
        if framed is None:
            raise ArchiveError("its bytes cannot be read")
        if source is next(iter(self.sources.values())):
            self._hear_frame(source, framed.frame)
        return PortMessage(source, framed.record, int(framed.record.stamp_ns[0]))

    def _hear_frame(self, source: PortSource, frame: str) -> None:
        camera = self.cameras.get(source.port)
        if camera is None or camera.turn is None:
            self.camera_frame = frame
        elif not self.edges:
            self.camera_frame = f"{frame}{RECTIFIED}"
            self.edges = [Edge(frame, self.camera_frame, transform_from_rotation(camera.turn.T, np.zeros(3)))]

    def value(self, message: PortMessage) -> Any:
        """What goes through the port; ArchiveError names what is wrong with it."""
        source, record = message.source, message.record
        if source.kind != FRAME:
            value = VALUES[source.kind][1](record)
            if isinstance(value, Cloud) and isinstance(record, Clouds):
                self.points_lost[source.topic] += len(record.load(0)) - len(value)
            return value
        frame = frame_of_image(record, self.cameras.get(source.port))
        self._stereo.require_light(frame)
        warning = self._stereo.hear(source.port, frame)
        self.told += [warning] if warning else []
        return frame

    def _framed(self, msgtype: str, data: bytes, log_ns: int) -> FramedRecord | None:
        decoder = self._decoders.setdefault(msgtype, RecordDecoder(msgtype))
        return next(decoder.records([Part(np.array([log_ns]), np.frombuffer(data, np.uint8)[None])]), None)
