"""Pose graphs: by the published vectors, by finite differences, and closed loops whose truth is known."""

import numpy as np
import pytest

from fieldplay.geometry.transforms import (
    inverse_from_transform,
    quaternion_from_rotation,
    rotation_from_vector,
    transform_from_rotation,
    transform_from_vectors,
    vector_from_rotation,
)
from fieldplay_cdff.steps.values import Array
from fieldplay_cdff.stereo.pose_graph import (
    GraphEdges,
    changes_of_edges,
    covariance_of_pose,
    deviations_of_edges,
    poses_of_graph,
)
from fieldplay_cdff.stereo.pose_track import transport_covariance

DEVIATIONS = np.array([0.004, 0.004, 0.004, 0.002, 0.002, 0.002])


def edges_of(
    nodes: Array, measured: Array, deviations: Array | None = None, doubted: list[int] | None = None
) -> GraphEdges:
    count = len(nodes)
    is_doubted = np.zeros(count, bool)
    is_doubted[doubted or []] = True
    known = np.ones(6) if deviations is None else deviations
    covariance = np.broadcast_to(np.diag(known**2), (count, 6, 6))
    return GraphEdges(nodes=nodes.astype(np.intp), measured=measured, covariance=covariance, is_doubted=is_doubted)


def lap(count: int, seed: int = 1) -> tuple[Array, GraphEdges]:
    """Poses on a circle of 10 m, and edges with noise from each to the next; the last one closes it, nearly exactly."""
    random = np.random.default_rng(seed)
    step = transform_from_vectors(np.array([0, 0, 2 * np.pi / count]), np.array([20 * np.sin(np.pi / count), 0, 0]))
    true = [np.eye(4)]
    for _ in range(count - 1):
        true.append(true[-1] @ step)
    noise = random.standard_normal((count, 6)) * DEVIATIONS
    noise[-1] /= 100
    nodes = np.column_stack([np.arange(count), (np.arange(count) + 1) % count])
    differences = inverse_from_transform(np.array(true)[nodes[:, 0]]) @ np.array(true)[nodes[:, 1]]
    measured = differences @ transform_from_vectors(noise[:, 3:], noise[:, :3])
    edges = edges_of(nodes, measured, DEVIATIONS, [count - 1])
    return np.array(true), edges


def chain(edges: GraphEdges, count: int) -> Array:
    poses = [np.eye(4)]
    for step in edges.measured[: count - 1]:
        poses.append(poses[-1] @ step)
    return np.array(poses)


def residuals(poses: Array, edges: GraphEdges) -> Array:
    differences = inverse_from_transform(poses[edges.nodes[:, 0]]) @ poses[edges.nodes[:, 1]]
    error = inverse_from_transform(edges.measured) @ differences
    return np.hstack([error[:, :3, 3], vector_from_rotation(error[:, :3, :3])])


def test_closed_loop_is_optimised_to_its_measurements() -> None:
    shifts = np.array([[1.02, 0.01, 0], [0.98, -0.02, 0.01], [1.01, 0, -0.01], [1.0, 0.03, 0]])
    turns = np.array([[0, 0, 1.6], [0, 0.01, 1.55], [0.01, 0, 1.58], [0, 0, 1.57]])
    measured = transform_from_rotation(rotation_from_vector(turns), shifts)
    edges = edges_of(np.array([[0, 1], [1, 2], [2, 3], [3, 0]]), measured)
    started = chain(edges, 4)
    optimised = poses_of_graph(started, edges)
    costs = [float(np.sum(residuals(poses, edges) ** 2)) for poses in (started, optimised)]
    assert costs == pytest.approx((0.003368853, 0.000507816), abs=1e-9)
    expected = [
        [1.011856338, 0.011954142, -0.001061443, 0.001865777, -0.000030269, 0.716925687, 0.697147099],
        [0.996325530, 0.994054380, 0.010488986, 0.000550325, 0.000030215, -0.999999341, -0.001007177],
        [-0.021804465, 0.998043644, -0.001684045, 0.000382618, -0.002245201, -0.707121483, 0.707088411],
    ]
    for pose, numbers in zip(optimised[1:], np.array(expected), strict=True):
        np.testing.assert_allclose(pose[:3, 3], numbers[:3], atol=1e-6)
        assert abs(quaternion_from_rotation(pose[:3, :3]) @ numbers[3:]) == pytest.approx(1, abs=1e-9)


def test_jacobians_match_finite_differences() -> None:
    random = np.random.default_rng(4)
    steps = random.normal(0, 0.7, (6, 6))
    poses = transform_from_vectors(steps[:, 3:], steps[:, :3])
    nodes = np.array([[0, 1], [3, 2], [4, 5], [1, 1 + 3]])
    off = random.normal(0, [[0.3], [1e-6], [0.01], [0.9]], (4, 6))
    differences = inverse_from_transform(poses[nodes[:, 0]]) @ poses[nodes[:, 1]]
    edges = edges_of(nodes, differences @ inverse_from_transform(transform_from_vectors(off[:, 3:], off[:, :3])))
    error = inverse_from_transform(edges.measured) @ differences
    jacobians = changes_of_edges(edges.measured, differences, error, vector_from_rotation(error[:, :3, :3]))
    for index in (0, 1):
        for number in range(6):
            sides = []
            for sign in (1, -1):
                step = np.zeros(6)
                step[number] = sign * 1e-6
                moved = poses[nodes].copy()
                moved[:, index] = moved[:, index] @ transform_from_vectors(step[3:], step[:3])
                pairs = np.arange(8).reshape(4, 2)
                sides.append(residuals(moved.reshape(-1, 4, 4), edges_of(pairs, edges.measured)))
            np.testing.assert_allclose(jacobians[index][:, :, number], (sides[0] - sides[1]) / 2e-6, atol=2e-8)


def test_closed_lap_is_corrected_with_least_squares_error_spread() -> None:
    true, edges = lap(400)
    started = chain(edges, 400)
    optimised = poses_of_graph(started, edges, huber=3.0)
    off = [np.linalg.norm(poses[:, :3, 3] - true[:, :3, 3], axis=1) for poses in (started, optimised)]
    assert off[0].max() > 0.5 and off[1].max() < 0.5 * off[0].max()
    assert deviations_of_edges(optimised, edges).max() < 6
    again = poses_of_graph(optimised @ transform_from_vectors(np.array([1e-3, 0, 2e-3]), np.zeros(3)), edges, huber=3.0)
    np.testing.assert_allclose(inverse_from_transform(again[0]) @ again, optimised, atol=1e-6)  # the first one stays


def test_wrong_doubted_edge_has_little_weight() -> None:
    true, edges = lap(60)
    wrong = transform_from_vectors(np.array([0, 0, 0.4]), np.array([2.0, 1.0, 0.0]))
    nodes, measured = np.vstack([edges.nodes, [[10, 40]]]), np.concatenate([edges.measured, wrong[None]])
    more = edges_of(nodes, measured, DEVIATIONS, [59, 60])
    plain, robust = (poses_of_graph(chain(edges, 60), more, huber=huber) for huber in (np.inf, 1.0))
    off = [np.linalg.norm(poses[:, :3, 3] - true[:, :3, 3], axis=1).max() for poses in (plain, robust)]
    assert off[1] < 0.3 * off[0]
    assert np.argmax(deviations_of_edges(robust, more)) == 60 and deviations_of_edges(robust, more)[60] > 100


def test_pose_covariance_matches_monte_carlo() -> None:
    count, tries = 12, 400
    last = []
    for seed in range(tries):
        true, edges = lap(count, seed)
        open_chain = GraphEdges(
            nodes=edges.nodes[:-1], measured=edges.measured[:-1], covariance=edges.covariance[:-1],
            is_doubted=edges.is_doubted[:-1],
        )  # fmt: skip
        error = inverse_from_transform(true[-1]) @ chain(edges, count)[-1]
        last.append(np.concatenate([error[:3, 3], vector_from_rotation(error[:3, :3])]))
    covariance = covariance_of_pose(true, open_chain, count - 1)
    np.testing.assert_allclose(np.sqrt(np.diag(covariance)), np.std(last, axis=0), rtol=0.12)
    by_steps = np.zeros((6, 6))
    for step in open_chain.measured:
        by_steps = transport_covariance(by_steps, step) + open_chain.covariance[0]
    np.testing.assert_allclose(np.sqrt(np.diag(by_steps)), np.sqrt(np.diag(covariance)), rtol=0.05)
    assert (covariance_of_pose(true, open_chain, 0) == 0).all()


def test_single_pose_and_exact_graphs_are_unchanged() -> None:
    true, edges = lap(8)
    exact = edges_of(edges.nodes[:-1], inverse_from_transform(true[:-1]) @ true[1:], DEVIATIONS)
    np.testing.assert_allclose(poses_of_graph(true, exact), true, atol=1e-9)
    none = edges_of(np.zeros((0, 2)), np.zeros((0, 4, 4)))
    np.testing.assert_array_equal(poses_of_graph(np.eye(4)[None], none), np.eye(4)[None])
