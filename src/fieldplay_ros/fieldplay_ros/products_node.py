"""The node of a store of products: it answers queries, gives products, and forgets them."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import accumulate, chain, islice
from math import isfinite
from pathlib import Path
from typing import Any

from builtin_interfaces.msg import Time
from fieldplay_interfaces import msg, srv
from geometry_msgs.msg import Point, Pose, Quaternion
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile

from fieldplay.core.errors import UsageError, UserError
from fieldplay.core.timestamps import NS_PER_S
from fieldplay_cdff.offline.product_files import CDR, product_files
from fieldplay_cdff.products.product import (
    EVERYTHING,
    Extent,
    FrameLink,
    InputSpan,
    Producer,
    Product,
    ProductQuery,
    SensorPose,
    StoreError,
    TypedMessage,
    digest_of,
)
from fieldplay_cdff.products.store import ProductStore
from fieldplay_ros.computation_node import declare, message_class, ns_of

DEFAULT_RECORDS, MAX_RECORDS = 1000, 10_000  # records in one answer
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)


class ProductsNode(Node):
    """The store in a folder, which pipelines may write to meanwhile."""

    def __init__(self, **options: Any) -> None:
        super().__init__("products", **options)
        folder = declare(self, "store", "", "the folder of the store, which is made where there is none")
        if not folder:
            raise UsageError("store: expected the folder of a store of products")
        self._store = ProductStore(Path(folder).expanduser(), is_written=True, report=self.get_logger().warning)
        self._senders: dict[tuple[str, str], Any] = {}
        self.create_service(srv.StoreProduct, "~/store", self._answers(self._keep))
        self.create_service(srv.FindProducts, "~/find", self._answers(self._find))
        self.create_service(srv.GetProduct, "~/get", self._answers(self._get))
        self.create_service(srv.ForgetProducts, "~/forget", self._answers(self._forget))

    def _answers(self, act: Callable[[Any, Any], None]) -> Callable[[Any, Any], Any]:
        """A service: what goes wrong is a sentence in its answer."""

        def callback(request: Any, response: Any) -> Any:
            with _service_errors(response):
                act(request, response)
            return response

        return callback

    def _keep(self, request: Any, response: Any) -> None:
        messages = messages_of_bytes(request.product.topics, request.product.types, bytes(request.data), request.sizes)
        stored_ns = self.get_clock().now().nanoseconds
        response.id = self._store.add(product_of_message(request.product, messages, stored_ns), messages).id

    def _find(self, request: Any, response: Any) -> None:
        query = query_of_message(request.query)
        response.count = self._store.count(query)
        last = request.first + min(request.most or DEFAULT_RECORDS, MAX_RECORDS)
        for product in islice(self._store.query(query), request.first, last):
            response.products.append(message_of_product(product))

    def _get(self, request: Any, response: Any) -> None:
        messages = self._store.messages(request.id)
        parts = [message.data for message in messages]
        if request.format and request.format != CDR:
            parts = list(product_files(messages, request.format).values())
        product = next(self._store.query(ProductQuery(ids=(request.id,))))
        response.product = message_of_product(product)
        response.data = b"".join(parts)
        response.sizes = [len(part) for part in parts]
        for message in messages if request.publish else ():
            self._publish(message)

    def _publish(self, message: TypedMessage) -> None:
        topic = f"~/{message.topic.strip('/').rpartition('/')[2]}"
        key = (topic, message.msgtype)
        if key not in self._senders:
            self._senders[key] = self.create_publisher(message_class(message.msgtype), topic, LATCHED)
        self._senders[key].publish(message.data)

    def _forget(self, request: Any, response: Any) -> None:
        query = query_of_message(request.query)
        if query == EVERYTHING:
            raise UsageError("expected a query for the products to forget, got an empty one")
        response.count = self._store.forget(query)

    def close(self) -> None:
        """Let go of the store."""
        self._store.close()

    def destroy_node(self) -> None:
        """Let go of the store, then end the node."""
        self.close()
        super().destroy_node()


@contextmanager
def _service_errors(response: Any) -> Iterator[None]:
    try:
        yield
        response.success = True
    except UserError as error:
        response.message = str(error)


def query_of_message(requested: Any) -> ProductQuery:
    """What a message asks for: what is empty or zero says nothing."""
    centre = (requested.centre.x, requested.centre.y, requested.centre.z)
    return ProductQuery(
        ids=tuple(int(id_) for id_ in requested.ids),
        kinds=tuple(requested.kinds),
        start_ns=ns_of(requested.start) or None,
        end_ns=ns_of(requested.end) or None,
        box=_box(requested.least, requested.most) if requested.has_box else None,
        centre=centre if requested.has_sphere else None,
        radius_m=requested.radius if requested.has_sphere else 0.0,
        newest=requested.newest or None,
        frame=requested.frame,
        world=requested.world,
    )


def _box(minimum: Any, maximum: Any) -> Extent:
    return Extent((minimum.x, minimum.y, minimum.z), (maximum.x, maximum.y, maximum.z))


def message_of_product(product: Product) -> Any:
    """The record of a product as a message."""
    producer = product.producer
    message = msg.Product(
        id=product.id, kind=product.kind, stamp=_time(product.stamp_ns), stored=_time(product.stored_ns),
        frame=product.frame, topics=[topic for topic, _ in product.messages],
        types=[msgtype for _, msgtype in product.messages],
        quality=float("nan") if product.quality is None else product.quality,
        size=product.size, digest=product.digest, dfpc=producer.dfpc, implementation=producer.implementation,
        configuration=producer.configuration, version=producer.version,
        input_ports=list(product.inputs), input_topics=[span.topic for span in product.inputs.values()],
        input_first=[_time(span.first_ns) for span in product.inputs.values()],
        input_last=[_time(span.last_ns) for span in product.inputs.values()],
        world=product.world, chain_frames=list(product.frames) if product.chain else [],
        chain_poses=[_pose_message(link.position, link.orientation) for link in product.chain],
    )  # fmt: skip
    if product.extent is not None:
        message.has_extent = True
        message.least, message.most = (_point(corner) for corner in product.extent)
    if product.pose is not None:
        message.has_pose = True
        message.pose.pose = _pose_message(product.pose.position, product.pose.orientation)
        message.pose.covariance = list(product.pose.covariance)
    return message


def messages_of_bytes(
    topics: Sequence[str], types: Sequence[str], data: bytes, sizes: Sequence[int]
) -> list[TypedMessage]:
    """The messages that lie one behind the other; StoreError where their sizes are not those of the bytes."""
    counts = {"topics": len(topics), "types": len(types), "sizes": len(sizes)}
    if not topics or len(set(counts.values())) > 1:
        raise StoreError(f"expected a topic, a type and a size of each message, got {counts}")
    if sum(sizes) != len(data) or not all(sizes):
        raise StoreError(f"expected messages of {len(data)} bytes together, none of them empty, got {list(sizes)}")
    stops = list(accumulate(sizes))
    return [
        TypedMessage(topic, msgtype, data[end - size : end])
        for topic, msgtype, size, end in zip(topics, types, sizes, stops, strict=True)
    ]


def product_of_message(message: Any, messages: Sequence[TypedMessage], stored_ns: int) -> Product:
    """The product of a message; size and digest are those of its messages. StoreError states what is missing."""
    if not (message.kind and message.frame):
        raise StoreError(f"expected the kind and the frame of a product, got '{message.kind}' and '{message.frame}'")
    lengths = {len(message.input_ports), len(message.input_topics), len(message.input_first), len(message.input_last)}
    if len(lengths) > 1:
        raise StoreError("expected a topic, a first and a last time of each input port")
    spans = zip(message.input_ports, message.input_topics, message.input_first, message.input_last, strict=True)
    if len(message.chain_poses) != max(len(message.chain_frames) - 1, 0):
        raise StoreError("expected a pose of each frame of the chain but the first")
    pose = _pose(message.pose) if message.has_pose else None
    links = zip(message.chain_frames, message.chain_frames[1:], message.chain_poses, strict=False)
    chained = tuple(FrameLink(parent=parent, child=child, **_numbers(pose)) for parent, child, pose in links)
    extent = _box(message.least, message.most) if message.has_extent else None
    numbers = [*(() if extent is None else chain(*extent))]
    numbers += [] if pose is None else [*pose.position, *pose.orientation, *pose.covariance]
    numbers += [number for link in chained for number in (*link.position, *link.orientation)]
    if not all(map(isfinite, numbers)):
        raise StoreError("expected numbers as pose and extent, got NaN or what is without end")
    return Product(
        kind=message.kind, stamp_ns=ns_of(message.stamp), stored_ns=stored_ns, frame=message.frame,
        messages=tuple((each.topic, each.msgtype) for each in messages),
        size=sum(len(each.data) for each in messages), digest=digest_of(messages),
        producer=Producer(
            dfpc=message.dfpc, implementation=message.implementation, configuration=message.configuration,
            version=message.version,
        ),
        inputs={
            port: InputSpan(topic=topic, first_ns=ns_of(first), last_ns=ns_of(last))
            for port, topic, first, last in spans
        },
        pose=pose, extent=extent,
        quality=float(message.quality) if isfinite(message.quality) else None,
        chain=chained, world=message.world,
    )  # fmt: skip


def _pose(message: Any) -> SensorPose:
    return SensorPose(covariance=tuple(map(float, message.covariance)), **_numbers(message.pose))


def _numbers(pose: Any) -> dict[str, tuple[float, ...]]:
    """Position and orientation of a geometry_msgs/Pose."""
    position, turn = pose.position, pose.orientation
    return {
        "position": (position.x, position.y, position.z),
        "orientation": (turn.x, turn.y, turn.z, turn.w),
    }


def _pose_message(position: Sequence[float], orientation: Sequence[float]) -> Pose:
    x, y, z, w = orientation
    return Pose(position=_point(position), orientation=Quaternion(x=x, y=y, z=z, w=w))


def _point(values: Any) -> Point:
    x, y, z = values
    return Point(x=float(x), y=float(y), z=float(z))


def _time(stamp_ns: int) -> Time:
    seconds, rest = divmod(stamp_ns, NS_PER_S)
    return Time(sec=seconds, nanosec=rest)
