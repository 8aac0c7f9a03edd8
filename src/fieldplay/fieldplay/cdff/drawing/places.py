"""How high nodes stand: as near as their order allows to where their edges would be straight."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

ROUNDS = 24
BETWEEN = 24.0


class Tie(NamedTuple):
    """A segment between two nodes, and how far below the nodes' tops it ends."""

    source: int
    target: int
    source_y: float
    target_y: float
    weight: float = 1.0


def heights_of_layers(
    order: Sequence[Sequence[int]], sizes: Mapping[int, float], ties: Sequence[Tie]
) -> dict[int, float]:
    """The top of each node; those of a layer stand in order, with a gap between them."""
    tops: dict[int, float] = {}
    for layer in order:
        tops.update(_in_order(layer, sizes, wanted=dict.fromkeys(layer, 0.0), weights=dict.fromkeys(layer, 1.0)))
    for turn in range(ROUNDS):
        for layer in order if turn % 2 == 0 else reversed(order):
            wanted, weights = _wanted(layer, tops, ties)
            tops.update(_in_order(layer, sizes, wanted=wanted, weights=weights))
    lowest = min(tops.values(), default=0.0)
    return {node: top - lowest for node, top in tops.items()}


def _wanted(
    layer: Sequence[int], tops: Mapping[int, float], ties: Sequence[Tie]
) -> tuple[dict[int, float], dict[int, float]]:
    """Where each node's edges would have it, and with what weight."""
    sums, weights = dict.fromkeys(layer, 0.0), dict.fromkeys(layer, 0.0)
    for tie in ties:
        for node, top in (
            (tie.target, tops[tie.source] + tie.source_y - tie.target_y),
            (tie.source, tops[tie.target] + tie.target_y - tie.source_y),
        ):
            if node in sums:
                sums[node] += tie.weight * top
                weights[node] += tie.weight
    free = 1e-3  # of a node without edges
    wanted = {node: sums[node] / weights[node] if weights[node] else tops[node] for node in layer}
    return wanted, {node: weight or free for node, weight in weights.items()}


def _in_order(
    layer: Sequence[int], sizes: Mapping[int, float], *, wanted: Mapping[int, float], weights: Mapping[int, float]
) -> dict[int, float]:
    """The places nearest to the wanted ones, by least squares, that keep the order and the gaps.

    Less what must stand above each, places may only grow; neighbours that do not are put together at their mean.
    """
    above, total = {}, 0.0
    for node in layer:
        above[node] = total
        total += sizes[node] + BETWEEN
    groups: list[tuple[float, float, list[int]]] = []
    for node in layer:
        mean, weight, nodes = wanted[node] - above[node], weights[node], [node]
        while groups and groups[-1][0] > mean:
            other, further, earlier = groups.pop()
            mean = (mean * weight + other * further) / (weight + further)
            weight, nodes = weight + further, earlier + nodes
        groups.append((mean, weight, nodes))
    return {node: mean + above[node] for mean, _, nodes in groups for node in nodes}
