"""The layers of a layered drawing: which box stands in which, in what order, and how high.

Edges lead from left to right. Within a layer each box goes to the mean place of its neighbours in the layer before,
then in the layer behind, again and again, and the order with the fewest crossings is kept; then boxes stand as near
as that order allows to where their edges would be straight.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

Pair = tuple[int, int]
SWEEPS = 16
MOST_ROWS = 64  # of ports at a node's side
ROUNDS = 24
BETWEEN = 24.0


def feedback_edges(count: int, edges: Sequence[Pair]) -> set[int]:
    """The indexes of edges without which there is no cycle: those that lead back to where a walk came from."""
    outgoing: list[list[tuple[int, int]]] = [[] for _ in range(count)]
    for index, (source, target) in enumerate(edges):
        outgoing[source].append((target, index))
    state, back = [0] * count, set()  # 1: on the walk, 2: done
    for start in range(count):
        if state[start]:
            continue
        walk = [(start, iter(outgoing[start]))]
        state[start] = 1
        while walk:
            node, further = walk[-1]
            for target, index in further:
                if state[target] == 1:
                    back.add(index)
                elif not state[target]:
                    state[target] = 1
                    walk.append((target, iter(outgoing[target])))
                    break
            else:
                state[node] = 2
                walk.pop()
    return back


def longest_path_layers(count: int, edges: Sequence[Pair]) -> list[int]:
    """The layer of each node of a graph without cycles: one behind the last of those that lead to it."""
    layers, waiting = [0] * count, [0] * count
    outgoing: list[list[int]] = [[] for _ in range(count)]
    for source, target in edges:
        outgoing[source].append(target)
        waiting[target] += 1
    ready = [node for node in range(count) if not waiting[node]]
    while ready:
        node = ready.pop()
        for target in outgoing[node]:
            layers[target] = max(layers[target], layers[node] + 1)
            waiting[target] -= 1
            if not waiting[target]:
                ready.append(target)
    return layers


def pulled_right(layers: Sequence[int], edges: Sequence[Pair], movable: Sequence[int]) -> list[int]:
    """Layers where nodes that nothing leads to stand right before what they lead to."""
    pulled = list(layers)
    entered = {target for _, target in edges}
    for node in movable:
        behind = [layers[target] for source, target in edges if source == node]
        if node not in entered and behind:
            pulled[node] = max(pulled[node], min(behind) - 1)
    return pulled


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
