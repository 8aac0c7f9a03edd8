"""The order of nodes within their layers, so that few edges cross.

Each node goes to the mean place of its neighbours in the layer before, then in the layer behind, again and again; the
order with the fewest crossings is kept.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

SWEEPS = 16
MOST_ROWS = 64  # of ports at a node's side


class Segment(NamedTuple):
    """A part of an edge, from a node to one in the next layer: both nodes, and the rows of the ports there."""

    source: int
    target: int
    source_row: int = 0
    target_row: int = 0


def ordered_layers(layers: Sequence[Sequence[int]], segments: Sequence[Segment]) -> list[list[int]]:
    """The nodes of each layer in order."""
    order = [list(layer) for layer in layers]
    best, fewest = order, crossings(order, segments)
    for sweep in range(SWEEPS):
        order = [list(layer) for layer in order]
        pairs = list(pairwise(range(len(order))))
        for left, right in pairs if sweep % 2 == 0 else reversed(pairs):
            if sweep % 2 == 0:
                order[right] = _by_barycentre(order[right], order[left], segments, to_left=True)
            else:
                order[left] = _by_barycentre(order[left], order[right], segments, to_left=False)
        count = crossings(order, segments)
        if count < fewest:
            best, fewest = order, count
    return best


def _by_barycentre(layer: list[int], other: list[int], segments: Sequence[Segment], *, to_left: bool) -> list[int]:
    place = {node: index for index, node in enumerate(other)}
    found: dict[int, list[float]] = {node: [] for node in layer}
    for segment in segments:
        node, neighbour = (segment.target, segment.source) if to_left else (segment.source, segment.target)
        row = segment.source_row if to_left else segment.target_row
        if node in found and neighbour in place:
            found[node].append(place[neighbour] + row / MOST_ROWS)
    means = {node: sum(places) / len(places) for node, places in found.items() if places}
    return sorted(layer, key=lambda node: means.get(node, float(layer.index(node))))


def crossings(order: Sequence[Sequence[int]], segments: Sequence[Segment]) -> int:
    """How many pairs of edges cross, those at ports of one node among them."""
    place = {node: (layer, index) for layer, nodes in enumerate(order) for index, node in enumerate(nodes)}
    by_layer: dict[int, list[tuple[tuple[int, int], tuple[int, int]]]] = {}
    for segment in segments:
        layer, index = place[segment.source]
        begin, end = (index, segment.source_row), (place[segment.target][1], segment.target_row)
        by_layer.setdefault(layer, []).append((begin, end))
    return sum(
        (a < c and b > d) or (a > c and b < d)
        for lines in by_layer.values()
        for number, (a, b) in enumerate(lines)
        for c, d in lines[:number]
    )
