"""All feeds of an archive, in the order that holds at equal times."""

from dataclasses import replace

from fieldplay.bags.storage import Channel, Qos, channel_of_type
from fieldplay.core.errors import ArchiveError, UsageError
from fieldplay.core.timestamps import NS_PER_S
from fieldplay.datasets.archive import Archive
from fieldplay.datasets.origins import archive_of_origin
from fieldplay.datasets.registry import robot_file
from fieldplay.geometry.extrinsics import Edge
from fieldplay.kinematics.computation import TF
from fieldplay.messages.point_clouds import CLOUD
from fieldplay.messages.stream_spec import StreamSpec
from fieldplay.streams.cloud_topics import cloud_topic_stream
from fieldplay.streams.image_topics import RAW, image_topic_streams, images_of
from fieldplay.streams.stream import Stream
from fieldplay.streams.topic_batches import Window
from fieldplay.streams.topic_stream import TopicStream, numeric_topic_stream
from fieldplay.topics.derived import DerivedOptions, derived_topic_streams, feeds_of_joints
from fieldplay.topics.dynamic_tf import (
    ODOM_TF,
    check_switches,
    feed_of_moving_frame,
    is_computed,
    sends_odom_tf,
    streams_on_tf,
)
from fieldplay.topics.plain_bag_topics import StoredFeed, feeds_of_bag, topic_in_namespace
from fieldplay.topics.rectified_images import rectified_image_feeds
from fieldplay.topics.selection import (
    Selection,
    chosen_topics,
    matching_topics,
    remapped_topics,
)
from fieldplay.topics.static_tf import (
    feed_of_static_frames,
    map_edges,
    rectified_frame_edges,
    static_edges,
)

STATIC, LATCHED, MOVING, INFO, DATA = range(5)  # what goes first at equal times
FAST_HZ = 50.0
MAX_SELECTIONS = 4  # whose topic streams an archive keeps
DEPTH, FAST_DEPTH = 10, 200


def window_of(archive: Archive, selection: Selection) -> Window:
    """Compute the selected time window of an archive.

    Args:
        archive: the archive, with at least one stream.
        selection: start and duration.

    Returns:
        The start of the archive, and the first and last time in ns; the last is None where it is open.
    """
    start = min(span.first_ns for stream in archive.streams.values() for span in stream.spans)
    first = start + round(selection.start_s * NS_PER_S)
    last = None if selection.duration_s is None else first + round(selection.duration_s * NS_PER_S)
    return Window(start, first, last)


def archive_topic_streams(archive: Archive, selection: Selection) -> list[TopicStream]:
    """Make topic streams of an archive's streams, with the static transforms and what is derived.

    They are made once for a selection, however many parts of a command ask for them.

    Args:
        archive: the open archive.
        selection: topics and message options.

    Returns:
        The topic streams, in the order of their messages at equal times.

    Raises:
        UsageError: the selection names an unknown switch, or there are no images to rectify.
    """
    for (spec, streams, known), feeds in archive.topic_streams:
        if spec is archive.spec and streams == tuple(archive.streams) and known == selection:
            return list(feeds)
    feeds = _make_topic_streams(archive, selection)
    archive.topic_streams.append(((archive.spec, tuple(archive.streams), selection), feeds))
    del archive.topic_streams[:-MAX_SELECTIONS]
    return list(feeds)


def _make_topic_streams(archive: Archive, selection: Selection) -> list[TopicStream]:
    check_switches(archive.spec, selection)
    window = window_of(archive, selection)
    if archive.bag is not None:
        more = [*rectified_image_feeds(archive, selection, window.first_ns)] if selection.rectify else []
        more += _missing_derived_feeds(archive, selection, window) if selection.derived else []
        return feeds_of_bag(archive, archive.bag, selection, window.first_ns, more=more)
    if selection.rectify and not any(spec.camera and spec.id in archive.streams for spec in archive.spec.streams):
        raise UsageError(f"--rectify: expected images with a CameraInfo, {archive.root} has none")
    feeds = []
    edges = _static_tree_edges(archive, selection, window.first_ns)
    if edges:
        feeds.append(feed_of_static_frames(edges, window.first_ns, selection.frame_prefix, STATIC))
    on_tf = streams_on_tf(archive, selection, {edge.child for edge in edges})
    for spec in archive.spec.streams:
        if spec.id in archive.streams:
            stream, spec = archive.streams[spec.id], _with_prefix(spec, selection.frame_prefix)
            feeds += _feeds_of_stream(archive, stream, spec, selection)
            if spec.id in on_tf:
                feeds.append(feed_of_moving_frame(stream, spec, MOVING))
    if selection.derived:
        feeds += derived_topic_streams(archive, _derived_options(archive, selection, window))
    elif selection.joints_tf:
        options = _derived_options(archive, replace(selection, tf={**selection.tf, ODOM_TF: False}), window)
        feeds += feeds_of_joints(archive, replace(options, first_ns=window.archive_ns))
    names = {feed.topic for feed in feeds}
    requested = chosen_topics(selection, names)
    requested |= {feed.topic for feed in feeds if feed.static} - matching_topics(selection.exclude_topics, names)
    chosen = [feed for feed in feeds if feed.topic in requested]
    if not any(feed.stream for feed in chosen):
        raise ArchiveError(f"no topic matches {selection.shown or 'what is wanted'}")
    new = remapped_topics(selection, {feed.topic: feed.msgtype for feed in chosen})
    return sorted((replace(feed, topic=new[feed.topic]) for feed in chosen), key=lambda feed: feed.rank)


def _missing_derived_feeds(archive: Archive, selection: Selection, window: Window) -> list[TopicStream]:
    """Derived topics that a converted bag does not have yet, with the map where the odometry is computed."""
    if archive.origin is None:
        return []
    own = archive_of_origin(archive, archive.origin)
    before = "/".join(filter(None, [(selection.namespace or "").strip("/"), archive.origin.namespace]))
    requested = replace(selection, namespace=before)
    has = {topic_in_namespace(name, selection.namespace) for name in archive.streams}
    options = _derived_options(own, requested, window)
    missing = [spec for spec in own.spec.derived if full_topic(own, requested, spec.topic) not in has]
    own.spec = replace(own.spec, derived=tuple(missing))
    computed = derived_topic_streams(own, options, of_joints=False)
    feeds = [feed for feed in computed if feed.topic == TF or feed.topic not in has]
    is_placed = bool(missing) and (any(spec.odom_tf for spec in missing) or not is_computed(archive.origin.spec))
    edges = map_edges(own, window.first_ns) if is_placed else []
    if edges:
        feeds.append(feed_of_static_frames(edges, window.first_ns, selection.frame_prefix, STATIC))
    return feeds


def static_feed(archive: Archive, selection: Selection, stamp_ns: int, start_ns: int) -> TopicStream | None:
    """Make /tf_static.

    Args:
        archive: the open archive.
        selection: message options.
        stamp_ns: the time of the message.
        start_ns: where the odometry starts, for map -> odom.

    Returns:
        The topic stream; None where there is no static frame.
    """
    edges = _static_tree_edges(archive, selection, start_ns)
    return feed_of_static_frames(edges, stamp_ns, selection.frame_prefix, STATIC) if edges else None


def _static_tree_edges(archive: Archive, selection: Selection, start_ns: int) -> list[Edge]:
    has_map = selection.map_tf or selection.derived
    edges = static_edges(archive.spec) + (map_edges(archive, start_ns) if has_map else [])
    return edges + (rectified_frame_edges(archive) if selection.rectify else [])


def _derived_options(archive: Archive, selection: Selection, window: Window) -> DerivedOptions:
    return DerivedOptions(
        topic=lambda name: full_topic(archive, selection, name),
        frame_prefix=selection.frame_prefix,
        tf_rank=MOVING,
        rank=DATA,
        first_ns=window.first_ns,
        odom_tf=sends_odom_tf(archive.spec, selection),
        static=static_edges(archive.spec),
        urdf=robot_file(archive.spec.robot),
    )


def _feeds_of_stream(archive: Archive, stream: Stream, spec: StreamSpec, selection: Selection) -> list[TopicStream]:
    topic = full_topic(archive, selection, spec.topic)
    if spec.type == RAW:
        camera = archive.spec.cameras.get(spec.camera)
        images = images_of(stream, selection.images)
        ranks = (INFO, DATA)
        return image_topic_streams(
            stream, spec, topic,
            camera=camera, images=images, report=archive.defects, ranks=ranks, rectify=selection.rectify,
        )  # fmt: skip
    if spec.type == CLOUD:
        return [cloud_topic_stream(stream, spec, topic, report=archive.defects, rank=DATA, latched=spec.latched)]
    return [numeric_topic_stream(stream, spec, topic, rank=DATA, latched=spec.latched)]


def _with_prefix(spec: StreamSpec, prefix: str) -> StreamSpec:
    frames = {name: getattr(spec, name) for name in ("frame", "child_frame")}
    return replace(spec, **{name: prefix + frame for name, frame in frames.items() if frame})


def full_topic(archive: Archive, selection: Selection, name: str) -> str:
    """Name a topic of the dataset in full.

    Args:
        archive: the open archive.
        selection: may name another namespace.
        name: of the topic; one that begins with a slash has no namespace, as /diagnostics.

    Returns:
        The full name.
    """
    if name.startswith("/"):
        return name
    namespace = archive.spec.namespace if selection.namespace is None else selection.namespace
    return "/" + "/".join(part.strip("/") for part in (namespace, name) if part.strip("/"))


def channel_of_feed(feed: TopicStream) -> Channel:
    """Describe a topic for a bag.

    Args:
        feed: the topic stream.

    Returns:
        The topic with its type and quality of service.
    """
    if isinstance(feed, StoredFeed):
        return feed.channel
    if feed.latched:
        qos = Qos(durability="transient_local", depth=1)
    else:
        qos = Qos(depth=FAST_DEPTH if rate_hz(feed) > FAST_HZ else DEPTH)
    return channel_of_type(feed.topic, feed.msgtype, qos)


def rate_hz(feed: TopicStream) -> float:
    """Compute the mean rate of a topic.

    Args:
        feed: the topic stream.

    Returns:
        The rate in Hz by the spans; 0 without any.
    """
    if not feed.spans:
        return 0.0
    count = sum(span.count for span in feed.spans)
    length = max(span.last_ns for span in feed.spans) - min(span.first_ns for span in feed.spans)
    return (count - 1) * NS_PER_S / length if length > 0 else 0.0
