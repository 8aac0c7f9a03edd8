"""The record of a product, and what can be asked of many."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

from fieldplay.core.errors import UsageError, UserError

FORM = 1  # of records; a reader leaves out those of another
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
    """Where the sensor was in the product's frame: position in m, orientation as x y z w, covariance (36) as in ROS."""

    position: tuple[float, ...]
    orientation: tuple[float, ...]
    covariance: tuple[float, ...]


@dataclass(frozen=True, kw_only=True)
class Producer:
    """What made a product: the pipeline, its implementation, a digest of how its steps are set, our version."""

    dfpc: str
    implementation: str
    configuration: str
    version: str


@dataclass(frozen=True, kw_only=True)
class InputSpan:
    """What went into a product at one input: its topic, and the first and last stamp since the last of its kind."""

    topic: str
    first_ns: int
    last_ns: int


class Extent(NamedTuple):
    """A box along the axes of the product's frame, in m."""

    least: Point
    most: Point


@dataclass(frozen=True, kw_only=True)
class Product:
    """What is known of a product: `stamp_ns` is when its data were taken, `stored_ns` when it was kept.

    The pose, the extent and the quality are None where they are not known. `size` and `digest` (SHA-256) are those of
    its messages' bytes, one behind the other.
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
    id: int = 0

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
        return Product(**fields)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise StoreError(f"expected the record of a product, got {text!r:.60}: {error}") from None


def digest_of(messages: Sequence[TypedMessage]) -> str:
    """SHA-256 of the messages' bytes, one behind the other."""
    digest = hashlib.sha256()
    for message in messages:
        digest.update(message.data)
    return digest.hexdigest()


@dataclass(frozen=True, kw_only=True)
class ProductQuery:
    """What is asked for: all that is said must hold. Boxes and spheres take what touches them.

    `start_ns` and `end_ns` are the first and last stamp; `newest` takes the last ones of what is left.
    """

    ids: tuple[int, ...] = ()
    kinds: tuple[str, ...] = ()
    start_ns: int | None = None
    end_ns: int | None = None
    box: Extent | None = None
    centre: Point | None = None
    radius_m: float = 0.0
    newest: int | None = None

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
    def is_all(self) -> bool:
        """Whether nothing is said, so that everything is meant."""
        return self == ProductQuery()


EVERYTHING = ProductQuery()
