"""The record of a product, and queries of many."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import reduce
from itertools import product as combinations
from typing import Any, NamedTuple

import numpy as np

from fieldplay.core.errors import UsageError, UserError
from fieldplay.geometry.transforms import (
    Array,
    quaternion_from_rotation,
    rotation_from_quaternion,
    transform_from_rotation,
    transform_points,
)

FORM = 1  # version of records; a reader ignores those of another
Point = tuple[float, float, float]


class StoreError(UserError):
    """A store of products that cannot be read or written, or a product that it does not have."""


class TypedMessage(NamedTuple):
    """A message that a product is made of."""

    topic: str
    msgtype: str
    data: bytes


@dataclass(frozen=True, kw_only=True)
class SensorPose:
    """The sensor's pose in the product's frame: position in m, orientation as x y z w, covariance (36) as in ROS."""

    position: tuple[float, ...]
    orientation: tuple[float, ...]
    covariance: tuple[float, ...]


@dataclass(frozen=True, kw_only=True)
class FrameLink:
    """The pose of a frame in its parent: position in m, orientation as x y z w."""

    parent: str
    child: str
    position: tuple[float, ...]
    orientation: tuple[float, ...]

    @classmethod
    def of_transform(cls, parent: str, child: str, parent_t_child: Array) -> "FrameLink":
        """The link of a transform (4, 4)."""
        turn = quaternion_from_rotation(parent_t_child[:3, :3]).reshape(4)
        return cls(
            parent=parent,
            child=child,
            position=tuple(parent_t_child[:3, 3].tolist()),
            orientation=tuple(turn.tolist()),
        )

    @property
    def parent_t_child(self) -> Array:
        """The transform (4, 4)."""
        return transform_from_rotation(rotation_from_quaternion(list(self.orientation)), list(self.position))


@dataclass(frozen=True, kw_only=True)
class Producer:
    """The origin of a product: the pipeline, its implementation, a digest of its parameters, our version."""

    dfpc: str
    implementation: str
    configuration: str
    version: str


@dataclass(frozen=True, kw_only=True)
class InputSpan:
    """An input of a product: its topic, and the first and last stamp since the previous product of its kind."""

    topic: str
    first_ns: int
    last_ns: int


class Extent(NamedTuple):
    """A box along the axes of the product's frame, in m."""

    least: Point
    most: Point


@dataclass(frozen=True, kw_only=True)
class Product:
    """The record of a product: `stamp_ns` is when its data were taken, `stored_ns` when it was stored.

    The pose, the extent and the quality are None where they are not known. `size` and `digest` (SHA-256) are those of
    its messages' bytes, concatenated. `chain` leads from a root, such as map, to the frame of pose and extent
    (`frame`, but for images the scene); `world` names the one root that is meant, since each recording may have a map
    of its own: positions of one world compare.
    """

    kind: str
    stamp_ns: int
    stored_ns: int
    frame: str
    messages: tuple[tuple[str, str], ...]  # topics and types
    size: int
    digest: str
    producer: Producer
    inputs: Mapping[str, InputSpan] = field(default_factory=dict)
    pose: SensorPose | None = None
    extent: Extent | None = None
    quality: float | None = None
    chain: tuple[FrameLink, ...] = ()
    world: str = ""
    id: int = 0

    @property
    def frames(self) -> tuple[str, ...]:
        """The frames in which it has a position: from the root of its chain to that of its extent."""
        last = self.chain[-1].child if self.chain else self.frame
        return (*(link.parent for link in self.chain), last)

    @property
    def frame_key(self) -> str:
        """Equal for products in one and the same frame: of one world, at the end of the same chain."""
        chain = json.dumps([asdict(link) for link in self.chain])
        return f"{self.frames[-1]} {self.world} {hashlib.sha256(chain.encode()).hexdigest()[:16] if self.chain else ''}"

    def extent_in(self, frame: str) -> Extent | None:
        """The box along the axes of a frame of its chain about its own box; None where it has none there."""
        if frame not in self.frames or self.extent is None:
            return None
        links = self.chain[self.frames.index(frame) :]
        transform = reduce(np.matmul, (link.parent_t_child for link in links), np.eye(4))
        corners = transform_points(transform, np.array(list(combinations(*zip(*self.extent, strict=True)))))
        (x, y, z), (to_x, to_y, to_z) = corners.min(axis=0).tolist(), corners.max(axis=0).tolist()
        return Extent((x, y, z), (to_x, to_y, to_z))

    def as_dict(self) -> dict[str, Any]:
        """As plain values."""
        fields = {"form": FORM, "id": self.id, **asdict(self)}
        fields["messages"] = [{"topic": topic, "type": msgtype} for topic, msgtype in self.messages]
        fields["extent"] = None if self.extent is None else {"least": self.extent.least, "most": self.extent.most}
        return fields

    def text(self) -> str:
        """As JSON on one line."""
        return json.dumps(self.as_dict(), separators=(",", ":"))


def product_of_text(text: str | bytes) -> Product:
    """The product of a record; StoreError where it is none, or one of another form."""
    try:
        fields = json.loads(text)
        if fields.pop("form") != FORM:
            raise StoreError(f"expected a record of form {FORM}")
        pose, extent = fields["pose"], fields["extent"]
        fields["messages"] = tuple((each["topic"], each["type"]) for each in fields["messages"])
        fields["producer"] = Producer(**fields["producer"])
        fields["inputs"] = {port: InputSpan(**span) for port, span in fields["inputs"].items()}
        fields["pose"] = None if pose is None else SensorPose(**{name: tuple(row) for name, row in pose.items()})
        fields["extent"] = None if extent is None else Extent(tuple(extent["least"]), tuple(extent["most"]))
        fields["chain"] = tuple(_link(link) for link in fields.get("chain", ()))
        return Product(**fields)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise StoreError(f"expected the record of a product, got {text!r:.60}: {error}") from None


def _link(fields: Mapping[str, Any]) -> FrameLink:
    numbers = {name: tuple(map(float, fields[name])) for name in ("position", "orientation")}
    return FrameLink(parent=str(fields["parent"]), child=str(fields["child"]), **numbers)


def digest_of(messages: Sequence[TypedMessage]) -> str:
    """SHA-256 of the messages' bytes, concatenated."""
    digest = hashlib.sha256()
    for message in messages:
        digest.update(message.data)
    return digest.hexdigest()


@dataclass(frozen=True, kw_only=True)
class ProductQuery:
    """A query: all conditions must hold. Boxes and spheres select what touches them.

    `start_ns` and `end_ns` are the first and last stamp; `newest` takes the last ones of what is left. Boxes and
    spheres are in `frame`, which must be in the product's chain; where it is empty, in the products' own frame, which
    must then be the same of all. `world` is the one of which they must be.
    """

    ids: tuple[int, ...] = ()
    kinds: tuple[str, ...] = ()
    start_ns: int | None = None
    end_ns: int | None = None
    box: Extent | None = None
    centre: Point | None = None
    radius_m: float = 0.0
    newest: int | None = None
    frame: str = ""
    world: str = ""

    def __post_init__(self) -> None:
        if self.start_ns is not None and self.end_ns is not None and self.start_ns > self.end_ns:
            raise UsageError(
                f"expected a time window that starts before it ends, got {self.start_ns} and {self.end_ns} ns"
            )
        if self.box is not None and any(low > high for low, high in zip(*self.box, strict=True)):
            raise UsageError(f"a box has its least corner first, got {self.box.least} and {self.box.most}")
        if self.radius_m < 0 or (self.newest is not None and self.newest < 1):
            raise UsageError(f"expected a radius from 0 and a count from 1, got {self.radius_m} and {self.newest}")

    @property
    def has_place(self) -> bool:
        """Whether it selects by position."""
        return self.box is not None or self.centre is not None

    def touches(self, extent: Extent | None) -> bool:
        """Whether an extent touches the box and the sphere of the query."""
        if extent is None:
            return not self.has_place
        low, high = (np.array(corner) for corner in extent)
        if self.box is not None and ((high < self.box.least).any() or (low > self.box.most).any()):
            return False
        if self.centre is None:
            return True
        outside = np.maximum(np.maximum(low - self.centre, np.array(self.centre) - high), 0)
        return bool(np.sum(outside**2) <= self.radius_m**2)

    @property
    def is_all(self) -> bool:
        """Whether there is no condition, so that all products match."""
        return self == ProductQuery()


EVERYTHING = ProductQuery()
