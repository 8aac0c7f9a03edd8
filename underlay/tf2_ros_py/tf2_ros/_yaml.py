"""The report of all frames that upstream's tools read."""

from ._cache import seconds
from ._frame_graph import FrameGraph

# The report divides by at least this much, so that a single sample has a rate at all.
SHORTEST_SPAN_NS = 100_000


def frames_as_yaml(graph: FrameGraph) -> str:
    """Return a mapping of every child that has data; ``[]`` if no frame was ever heard of."""
    if not graph.caches:
        return "[]"
    return "".join(_entry(graph, name) for name in graph.caches)


def _entry(graph: FrameGraph, name: str) -> str:
    cache = graph.caches[name]
    parent = None if cache is None else cache.newest()[1]
    if cache is None or parent is None:
        return ""
    oldest, latest, count = cache.span()
    rate = count * 1e9 / max(latest - oldest, SHORTEST_SPAN_NS)
    return (
        f"{name}: \n"
        f"  parent: '{parent}'\n"
        f"  broadcaster: '{graph.authorities.get(name, 'no recorded authority')}'\n"
        f"  rate: {rate:.3f}\n"
        f"  most_recent_transform: {seconds(latest)}\n"
        f"  oldest_transform: {seconds(oldest)}\n"
        f"  buffer_length: {(latest - oldest) / 1e9:.3f}\n"
    )
