"""The positions of boxes and the course of edges: layers from left to right, and smooth curves between them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from fieldplay_cdff.tools.diagrams.diagram_graph import (
    INPUT,
    OUTPUT,
    Box,
    Graph,
    GraphEdge,
)
from fieldplay_cdff.tools.diagrams.shapes import Point

Pair = tuple[int, int]
SWEEPS = 16
MAX_ROWS = 64  # of ports at a node's side
ROUNDS = 24
BETWEEN = 24.0
GAP, PER_EDGE, WIDEST_GAP = 56.0, 5.0, 130.0
LANE = 12.0  # between edges that lead back
CORNER = 8.0
STRAIGHT = 4.0  # how much more an edge through layers wants to be straight
PER_ROW = 3  # layers of boxes without any connection


# The layers of a layered drawing: the boxes of each, their order, and their heights.
#
# Edges lead from left to right. Within a layer each box goes to the mean position of its neighbours in the previous
# layer, then in the next, repeatedly, and the order with the fewest crossings is kept; then boxes are as near
# as that order allows to positions with straight edges.


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
    """The layer of each node of a graph without cycles: one after the last of those that lead to it."""
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


def pull_right(layers: Sequence[int], edges: Sequence[Pair], movable: Sequence[int]) -> list[int]:
    """Move nodes without predecessors to the layer right before their successors."""
    pulled = list(layers)
    entered = {target for _, target in edges}
    for node in movable:
        targets = [layers[target] for source, target in edges if source == node]
        if node not in entered and targets:
            pulled[node] = max(pulled[node], min(targets) - 1)
    return pulled


class Segment(NamedTuple):
    """A part of an edge, from a node to one in the next layer: both nodes, and the rows of the ports there."""

    source: int
    target: int
    source_row: int = 0
    target_row: int = 0


def order_layers(layers: Sequence[Sequence[int]], segments: Sequence[Segment]) -> list[list[int]]:
    """Order the nodes of each layer."""
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
    index_of = {node: index for index, node in enumerate(other)}
    neighbours: dict[int, list[float]] = {node: [] for node in layer}
    for segment in segments:
        node, neighbour = (segment.target, segment.source) if to_left else (segment.source, segment.target)
        row = segment.source_row if to_left else segment.target_row
        if node in neighbours and neighbour in index_of:
            neighbours[node].append(index_of[neighbour] + row / MAX_ROWS)
    means = {node: sum(indices) / len(indices) for node, indices in neighbours.items() if indices}
    return sorted(layer, key=lambda node: means.get(node, float(layer.index(node))))


def crossings(order: Sequence[Sequence[int]], segments: Sequence[Segment]) -> int:
    """Count the pairs of edges that cross, those at ports of one node among them."""
    position = {node: (layer, index) for layer, nodes in enumerate(order) for index, node in enumerate(nodes)}
    by_layer: dict[int, list[tuple[tuple[int, int], tuple[int, int]]]] = {}
    for segment in segments:
        layer, index = position[segment.source]
        start, end = (index, segment.source_row), (position[segment.target][1], segment.target_row)
        by_layer.setdefault(layer, []).append((start, end))
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
    """The top of each node; those of a layer are in order, with a gap between them."""
    tops: dict[int, float] = {}
    for layer in order:
        tops.update(_in_order(layer, sizes, requested=dict.fromkeys(layer, 0.0), weights=dict.fromkeys(layer, 1.0)))
    for turn in range(ROUNDS):
        for layer in order if turn % 2 == 0 else reversed(order):
            requested, weights = _preferred_positions(layer, tops, ties)
            tops.update(_in_order(layer, sizes, requested=requested, weights=weights))
    lowest = min(tops.values(), default=0.0)
    return {node: top - lowest for node, top in tops.items()}


def _preferred_positions(
    layer: Sequence[int], tops: Mapping[int, float], ties: Sequence[Tie]
) -> tuple[dict[int, float], dict[int, float]]:
    """Return the position that each node's edges prefer, and its weight."""
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
    requested = {node: sums[node] / weights[node] if weights[node] else tops[node] for node in layer}
    return requested, {node: weight or free for node, weight in weights.items()}


def _in_order(
    layer: Sequence[int], sizes: Mapping[int, float], *, requested: Mapping[int, float], weights: Mapping[int, float]
) -> dict[int, float]:
    """The positions nearest to the preferred ones, by least squares, that keep the order and the gaps.

    Less the height above each, positions may only grow; neighbours that do not are merged at their mean.
    """
    above, total = {}, 0.0
    for node in layer:
        above[node] = total
        total += sizes[node] + BETWEEN
    groups: list[tuple[float, float, list[int]]] = []
    for node in layer:
        mean, weight, nodes = requested[node] - above[node], weights[node], [node]
        while groups and groups[-1][0] > mean:
            other, further, earlier = groups.pop()
            mean = (mean * weight + other * further) / (weight + further)
            weight, nodes = weight + further, earlier + nodes
        groups.append((mean, weight, nodes))
    return {node: mean + above[node] for mean, _, nodes in groups for node in nodes}


@dataclass(frozen=True, kw_only=True)
class ChainLayout:
    """Upper left corners of boxes, the points of edges as in shapes.Line, and the size of all."""

    corners: tuple[Point, ...]
    routes: tuple[tuple[Point, ...], ...]
    width: float
    height: float


@dataclass(kw_only=True)
class _Plan:
    """The graph in layers, with nodes (numbers from the count of boxes on) where an edge passes a layer."""

    order: list[list[int]]
    segments: list[Segment]
    chains: dict[int, list[int]]  # nodes of an edge from its source to its target
    passing: dict[int, int]  # which edge a passing node belongs to


def layout_of(graph: Graph) -> ChainLayout:
    """Return the positions of all elements, from 0, 0."""
    pairs = [(edge.source, edge.target) for edge in graph.edges]
    back = feedback_edges(len(graph.boxes), pairs)
    forward = [index for index in range(len(pairs)) if index not in back]
    plan = _plan(graph, forward, _layers(graph, [pairs[index] for index in forward]))
    sizes = {
        node: graph.boxes[node].height if node < len(graph.boxes) else 0.0 for layer in plan.order for node in layer
    }
    tops = heights_of_layers(plan.order, sizes, _ties(graph, plan))
    columns = _columns(graph, plan)
    corners: list[Point] = [(0.0, 0.0)] * len(graph.boxes)
    for layer, (left, right) in zip(plan.order, columns, strict=True):
        for node in layer:
            if node < len(graph.boxes):
                corners[node] = (_x_of_box(graph.boxes[node], left, right), tops[node])
    bottom = max((corners[index][1] + box.height for index, box in enumerate(graph.boxes)), default=0.0)
    lanes = {index: bottom + BETWEEN + LANE * number for number, index in enumerate(sorted(back))}
    positions = _Positions(graph=graph, corners=corners, tops=tops, columns=columns, layer_of=_layer_of(plan))
    routes = tuple(
        positions.back_route(edge, lanes[index]) if index in back else positions.route(edge, plan.chains[index])
        for index, edge in enumerate(graph.edges)
    )
    return ChainLayout(
        corners=tuple(corners), routes=routes, width=columns[-1][1] if columns else 0.0,
        height=max([bottom, *(lane + CORNER for lane in lanes.values())]),
    )  # fmt: skip


def _layers(graph: Graph, pairs: Sequence[tuple[int, int]]) -> list[int]:
    """The layer of each box: inputs in the first, outputs in the last, steps as far left as they can."""
    boxes = graph.boxes
    steps = [index for index, box in enumerate(boxes) if not box.is_outer]
    has_inputs = any(box.style == INPUT for box in boxes)
    entries = [(index, step) for index, box in enumerate(boxes) if box.style == INPUT for step in steps]
    layers = longest_path_layers(len(boxes), [*pairs, *(entries if has_inputs else [])])
    layers = pull_right(layers, pairs, steps)
    loose = [step for step in steps if not any(step in pair for pair in pairs)]
    if len(loose) == len(steps):
        for number, step in enumerate(loose):
            layers[step] = number % max(PER_ROW, round(len(loose) ** 0.5)) + has_inputs
    last = max((layers[step] for step in steps), default=0) + 1
    return [last if box.style == OUTPUT else layer for box, layer in zip(boxes, layers, strict=True)]


def _plan(graph: Graph, forward: Sequence[int], layers: Sequence[int]) -> _Plan:
    order: list[list[int]] = [[] for _ in range(max(layers, default=-1) + 1)]
    for node, layer in enumerate(layers):
        order[layer].append(node)
    segments, chains, passing, fresh = [], {}, {}, len(graph.boxes)
    for index in forward:
        edge = graph.edges[index]
        chain = [edge.source]
        for layer in range(layers[edge.source] + 1, layers[edge.target]):
            order[layer].append(fresh)
            passing[fresh] = index
            chain.append(fresh)
            fresh += 1
        chain.append(edge.target)
        chains[index] = chain
        for number in range(len(chain) - 1):
            source_row = edge.source_row if not number else 0
            target_row = edge.target_row if number == len(chain) - 2 else 0
            segments.append(Segment(chain[number], chain[number + 1], source_row, target_row))
    filled = [layer for layer in order if layer]
    return _Plan(order=order_layers(filled, segments), segments=segments, chains=chains, passing=passing)


def _ties(graph: Graph, plan: _Plan) -> list[Tie]:
    def below_top(node: int, row: int) -> float:
        return graph.boxes[node].port_height(row) if node < len(graph.boxes) else 0.0

    return [
        Tie(
            segment.source, segment.target,
            below_top(segment.source, segment.source_row), below_top(segment.target, segment.target_row),
            STRAIGHT if {segment.source, segment.target} <= plan.passing.keys() else 1.0,
        )
        for segment in plan.segments
    ]  # fmt: skip


def _layer_of(plan: _Plan) -> dict[int, int]:
    return {node: index for index, layer in enumerate(plan.order) for node in layer}


def _columns(graph: Graph, plan: _Plan) -> list[tuple[float, float]]:
    """The start and end of each layer; the more edges between two, the wider the gap."""
    layer_of, columns, x = _layer_of(plan), [], 0.0
    for index, layer in enumerate(plan.order):
        width = max((graph.boxes[node].width for node in layer if node < len(graph.boxes)), default=0.0)
        columns.append((x, x + width))
        busy = sum(1 for segment in plan.segments if layer_of[segment.source] == index)
        x += width + min(GAP + PER_EDGE * busy, WIDEST_GAP)
    return columns


def _x_of_box(box: Box, left: float, right: float) -> float:
    """Inputs are at the right of their layer, outputs at the left, steps in its middle."""
    if box.style == INPUT:
        return right - box.width
    return left if box.style == OUTPUT else (left + right - box.width) / 2


@dataclass(kw_only=True)
class _Positions:
    graph: Graph
    corners: list[Point]
    tops: dict[int, float]
    columns: list[tuple[float, float]]
    layer_of: dict[int, int]

    def route(self, edge: GraphEdge, chain: Sequence[int]) -> tuple[Point, ...]:
        """From port to port, straight through the layers in between and in a curve between two."""
        points = [self._out(edge)]
        stops = []
        for node in chain[1:-1]:
            left, right = self.columns[self.layer_of[node]]
            stops += [(left, self.tops[node]), (right, self.tops[node])]
        stops.append(self._in(edge))
        for index, stop in enumerate(stops):
            points += _straight(points[-1], stop) if index % 2 else _curve(points[-1], stop)
        return tuple(points)

    def back_route(self, edge: GraphEdge, lane: float) -> tuple[Point, ...]:
        """Below all boxes, with rounded corners."""
        start, end = self._out(edge), self._in(edge)
        right = self.columns[self.layer_of[edge.source]][1] + 2 * CORNER
        left = self.columns[self.layer_of[edge.target]][0] - 2 * CORNER
        corners = [start, (right, start[1]), (right, lane), (left, lane), (left, end[1]), end]
        points = [start]
        for before, corner, after in zip(corners, corners[1:], corners[2:], strict=False):
            first, last = _towards(corner, before), _towards(corner, after)
            points += [*_straight(points[-1], first), corner, corner, last]
        return (*points, *_straight(points[-1], end))

    def _out(self, edge: GraphEdge) -> Point:
        x, y = self.corners[edge.source]
        box = self.graph.boxes[edge.source]
        return x + box.width, y + box.port_height(edge.source_row)

    def _in(self, edge: GraphEdge) -> Point:
        x, y = self.corners[edge.target]
        return x, y + self.graph.boxes[edge.target].port_height(edge.target_row)


def _curve(start: Point, end: Point) -> list[Point]:
    bend = max((end[0] - start[0]) / 2, 1.0)
    return [(start[0] + bend, start[1]), (end[0] - bend, end[1]), end]


def _straight(start: Point, end: Point) -> list[Point]:
    return [start, end, end]


def _towards(corner: Point, other: Point) -> Point:
    length = max(abs(other[0] - corner[0]) + abs(other[1] - corner[1]), 1e-9)
    fraction = min(CORNER / length, 0.5)
    return corner[0] + (other[0] - corner[0]) * fraction, corner[1] + (other[1] - corner[1]) * fraction
