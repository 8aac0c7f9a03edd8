"""The layout of diagrams: layers from left to right, boxes that do not touch, few crossings."""

from itertools import combinations, pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fieldplay_cdff.descriptors.description_reader import description_of_text
from fieldplay_cdff.descriptors.model import published_catalogue
from fieldplay_cdff.tools.diagrams.diagram_graph import (
    INPUT,
    OUTPUT,
    STEP,
    Box,
    Graph,
    GraphEdge,
    Mark,
    graph_of,
)
from fieldplay_cdff.tools.diagrams.diagram_layout import (
    BETWEEN,
    Segment,
    Tie,
    crossings,
    feedback_edges,
    heights_of_layers,
    layout_of,
    longest_path_layers,
    order_layers,
)
from fieldplay_testing.reference_logs import DFN, FORM_1, FORM_2

ExactTimeSync = list[tuple[int, int]]


def graph_from_text(text: str) -> Graph:
    description = description_of_text("a.yaml", text, lambda _: None)
    return graph_of(description, description.chains[0], published_catalogue())


def graph_from_pairs(count: int, pairs: ExactTimeSync) -> Graph:
    """Steps with one port at each side."""
    port = (Mark("port", "known"),)
    boxes = tuple(Box(id=(STEP, str(index)), title=str(index), left=port, right=port) for index in range(count))
    return Graph(boxes=boxes, edges=tuple(GraphEdge(source, 0, target, 0) for source, target in pairs))


graphs = st.integers(1, 9).flatmap(
    lambda count: st.tuples(
        st.just(count),
        st.lists(st.tuples(st.integers(0, count - 1), st.integers(0, count - 1)), max_size=14, unique=True),
    )
)


@given(graphs)
def test_graph_without_feedback_has_ascending_layers(drawn: tuple[int, ExactTimeSync]) -> None:
    count, pairs = drawn
    back = feedback_edges(count, pairs)
    forward = [pair for index, pair in enumerate(pairs) if index not in back]
    layers = longest_path_layers(count, forward)
    assert all(layers[source] < layers[target] for source, target in forward)
    for index in back:  # each is needed: with it there is a cycle
        source, target = pairs[index]
        reached, fresh = {target}, {target}
        while fresh:
            fresh = {end for start, end in pairs if start in fresh} - reached
            reached |= fresh
        assert source in reached


def test_acyclic_chain_has_no_feedback_and_longest_path_layers() -> None:
    pairs = [(0, 1), (1, 2), (0, 2), (2, 3)]
    assert feedback_edges(4, pairs) == set()
    assert longest_path_layers(4, pairs) == [0, 1, 2, 3]


def test_crossed_edges_are_uncrossed() -> None:
    segments = [Segment(0, 5), Segment(1, 4), Segment(2, 3)]
    assert crossings([[0, 1, 2], [3, 4, 5]], segments) == 3
    assert crossings(order_layers([[0, 1, 2], [3, 4, 5]], segments), segments) == 0


def test_nodes_at_upper_ports_are_placed_above() -> None:
    segments = [Segment(0, 2, 0, 1), Segment(1, 2, 0, 0)]
    assert crossings([[0, 1], [2]], segments) == 1
    assert order_layers([[0, 1], [2]], segments)[0] == [1, 0]


def test_nodes_are_placed_for_straight_edges_if_there_is_room() -> None:
    tops = heights_of_layers([[0, 1], [2]], {0: 50.0, 1: 50.0, 2: 20.0}, [Tie(1, 2, 25.0, 10.0)])
    assert tops[1] - tops[0] == pytest.approx(50.0 + BETWEEN, abs=1e-6)
    assert tops[2] + 10.0 == pytest.approx(tops[1] + 25.0, abs=0.1)


@settings(deadline=None, max_examples=60)
@given(graphs)
def test_boxes_do_not_touch_and_edges_connect_ports(drawn: tuple[int, ExactTimeSync]) -> None:
    graph = graph_from_pairs(*drawn)
    layout = layout_of(graph)
    frames = [(*corner, box.width, box.height) for corner, box in zip(layout.corners, graph.boxes, strict=True)]
    for (x, y, width, height), (left, top, other, tall) in combinations(frames, 2):
        assert x + width <= left or left + other <= x or y + height <= top or top + tall <= y
    assert all(x >= 0 and x + width <= layout.width + 1e-6 and -1e-6 <= y <= layout.height for x, y, width, _ in frames)
    for edge, route in zip(graph.edges, layout.routes, strict=True):
        (x, y, width, _), (left, top, *_) = frames[edge.source], frames[edge.target]
        assert route[0] == pytest.approx((x + width, y + graph.boxes[edge.source].port_height(0)))
        assert route[-1] == pytest.approx((left, top + graph.boxes[edge.target].port_height(0)))
        assert len(route) % 3 == 1


@pytest.mark.parametrize("text", [FORM_1, FORM_2])
def test_inputs_are_left_and_outputs_are_right(text: str) -> None:
    graph = graph_from_text(text)
    corners = layout_of(graph).corners
    columns = {
        style: [
            (x, x + box.width) for (x, _), box in zip(corners, graph.boxes, strict=True) if box.style == style
        ]
        for style in (INPUT, STEP, OUTPUT)
    }  # fmt: skip
    for before, after in pairwise((INPUT, STEP, OUTPUT)):
        assert max(end for _, end in columns[before]) < min(start for start, _ in columns[after])


def test_feedback_edge_runs_below_all_boxes() -> None:
    graph = graph_from_text(FORM_2)
    layout = layout_of(graph)
    bottom = max(y + box.height for (_, y), box in zip(layout.corners, graph.boxes, strict=True))
    loops = [route for edge, route in zip(graph.edges, layout.routes, strict=True) if edge.source == edge.target]
    assert len(loops) == 1
    assert max(y for _, y in loops[0]) > bottom


def test_ports_are_those_of_catalogue_and_connections() -> None:
    graph = graph_from_text(FORM_2.replace("port: left}", "port: inLeft}"))
    stereo = next(box for box in graph.boxes if box.title == "stereo")
    assert [(mark.name, mark.state) for mark in stereo.left] == [
        ("left", "unused"),
        ("right", "known"),
        ("inLeft", "wrong"),
    ]
    assert stereo.lines == ("StereoReconstruction", "DisparityMapping, 2 Hz")


def test_dfn_is_one_box_with_types_of_its_ports() -> None:
    (box,) = graph_from_text(DFN).boxes
    assert [mark.name for mark in (*box.left, *box.right)] == ["image: Frame", "edges: Frame"]
