"""Clouds put onto each other: one step against numbers worked out by hand, all kinds against a known transform."""

from typing import Any

import numpy as np
import pytest

from fieldplay.core.errors import UsageError
from fieldplay.geometry.transforms import (
    inverse_from_transform,
    transform_from_vectors,
    transform_points,
    vector_from_rotation,
)
from fieldplay_cdff.steps.rigid import plane_step, rigid_fit
from fieldplay_cdff.steps.step import Step, step_of
from fieldplay_cdff.steps.values import Array, Cloud, Features3D

GENERAL = "GeneralParameters"
TRUTH = transform_from_vectors(np.array([0.01, -0.015, 0.02]), np.array([0.03, -0.02, 0.015]))  # sink_T_source
KINDS = {
    "point": ("Icp3D", {GENERAL: {"MaxCorrespondenceDistance": 0.2}}),
    "plane": ("Icp3D", {GENERAL: {"MaxCorrespondenceDistance": 0.2, "Method": "Plane"}}),
    "gicp": ("Icp3D", {GENERAL: {"MaxCorrespondenceDistance": 0.2, "Method": "Gicp"}}),
    "cloud_compare": ("IcpCC", {GENERAL: {"MaximumNumberOfIterations": 100, "MinimumErrorReduction": 1e-9}}),
    "matcher": ("IcpMatcher", {}),
    "matcher_points": (
        "IcpMatcher",
        {GENERAL: {"UseDefault": False, "MinimizerType": "PointToPoint", "KdTreeMatchingEpsilon": 0.0,
                   "MaxTranslationDistance": 1e-6, "MaxRotationDistance": 1e-6, "MaximumIterations": 200}},
    ),
}  # fmt: skip


def hills(count: int = 3000, seed: int = 0) -> Array:
    """A bent surface before a camera."""
    x, y = np.random.default_rng(seed).uniform(-1, 1, (2, count))
    return np.stack([x, y, 3 + 0.2 * np.sin(3 * x) + 0.15 * np.cos(4 * y + x)], axis=1)


def register(step: Step, source: Array, sink: Array, **more: Any) -> dict[str, Any]:
    return step.process(sourceCloud=Cloud(points=source), sinkCloud=Cloud(points=sink), **more)


def errors(transform: Array, truth: Array = TRUTH) -> tuple[float, float]:
    difference = inverse_from_transform(truth) @ transform
    return float(np.linalg.norm(difference[:3, 3])), float(np.linalg.norm(vector_from_rotation(difference[:3, :3])))


def test_point_to_plane_step_matches_reference() -> None:
    sink = np.array([[1, 2, 0], [2, 0, 1], [0, 1, 2], [1, 1, 1], [2, 1, 0.5], [0.5, 2, 1], [-1, 1, 0], [1, -1, 2]])
    expected = np.array([
        [0.1, 0.05, 0.02], [-0.03, 0.04, 0.01], [0.02, -0.06, 0.05], [0.01, 0.02, -0.04], [0.03, -0.02, 0.01],
        [-0.05, 0.01, 0.02], [0, 0.03, -0.02], [0.04, 0.01, -0.01],
    ])  # fmt: skip
    normals = np.array([
        [0, 0, 1], [0, 1, 0], [1, 0, 0], [0.6, 0, 0.8], [0, 0.6, 0.8], [0.8, 0.6, 0], [0, 0, 1], [0.6, -0.8, 0],
    ])  # fmt: skip
    turn, shift = plane_step(sink + expected, sink, normals)
    np.testing.assert_allclose(turn, [-0.033450879, -0.007826196, -0.018607923], atol=1e-9)
    np.testing.assert_allclose(shift, [-0.000727599, -0.034545230, 0.053416519], atol=1e-9)
    before = np.sum(expected * normals, axis=1)
    after = before + np.cross(sink + expected, normals) @ turn + normals @ shift
    assert np.sum(before**2) == pytest.approx(0.004904)
    assert np.sum(after**2) == pytest.approx(0.001254010, abs=1e-9)


def test_point_to_point_step_is_exact_for_correct_pairs() -> None:
    corners = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0], [1, 0, 1], [0, 1, 1]], float)
    truth = transform_from_vectors(np.array([0.02, -0.03, 0.05]), np.array([0.05, -0.04, 0.03]))
    sink = transform_points(truth, corners)
    assert np.sqrt(np.mean(np.sum((sink - corners) ** 2, axis=1))) == pytest.approx(0.073479001, abs=1e-9)
    np.testing.assert_allclose(rigid_fit(corners, sink), truth, atol=1e-12)
    step = step_of("Registration3D", "IcpCC")({GENERAL: {"MaximumNumberOfIterations": 1}})
    np.testing.assert_allclose(register(step, corners, sink)["transform"], truth, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_source_to_sink_transform_is_found_deterministically(kind: str) -> None:
    name, parameters = KINDS[kind]
    results = [
        register(step_of("Registration3D", name)(parameters, threads=2), hills(), transform_points(TRUTH, hills()))
        for _ in "ab"
    ]
    assert results[0]["success"] and results[0]["quality"] > 0.99
    shift, turn = errors(results[0]["transform"])
    assert shift < 2e-3 and turn < 1e-3, "not its inverse, which the original gives"
    assert results[0]["transform"].tobytes() == results[1]["transform"].tobytes()


def test_search_starts_at_guess() -> None:
    """The original's step on PCL leaves it out."""
    far = transform_from_vectors(np.array([0.4, -0.3, 0.5]), np.array([2.0, 1.0, -1.0]))
    step = step_of("Registration3D", "Icp3D")({GENERAL: {"MaxCorrespondenceDistance": 0.2}})
    sink = transform_points(far @ TRUTH, hills())
    assert register(step, hills(), sink, transformGuess=far) == {"success": False}
    result = register(step, hills(), sink, transformGuess=far, useGuess=True)
    assert errors(result["transform"], far @ TRUTH)[0] < 2e-3
    with pytest.raises(ValueError, match="transformGuess: expected a pose, got none"):
        register(step, hills(), sink, useGuess=True)


@pytest.mark.parametrize(("name", "parameters"), [KINDS["plane"], KINDS["gicp"], KINDS["matcher"]])
def test_directions_floor_does_not_constrain_stay_as_guessed(name: str, parameters: dict[str, Any]) -> None:
    floor = hills() * [1, 1, 0] + [0, 0, 3]
    guess = transform_from_vectors(np.array([0.0, 0, 0.01]), np.array([0.02, -0.01, 0.03]))
    step = step_of("Registration3D", name)(parameters)
    other = hills(seed=7) * [1, 1, 0] + [0, 0, 3]
    transform = register(step, floor, other, transformGuess=guess, useGuess=True)["transform"]
    np.testing.assert_allclose(transform[:3, 3], [0.02, -0.01, 0], atol=2e-3)
    np.testing.assert_allclose(vector_from_rotation(transform[:3, :3]), [0, 0, 0.01], atol=1e-3)


def test_disjoint_clouds_fail_although_converged() -> None:
    for name in ("Icp3D", "IcpCC"):
        step = step_of("Registration3D", name)()
        assert register(step, hills(), np.random.default_rng(1).uniform(5, 40, (3000, 3))) == {"success": False}
    strict = step_of("Registration3D", "Icp3D")({GENERAL: {"EuclideanFitnessEpsilon": 1e-9, "MaximumIterations": 1}})
    assert register(strict, hills(), transform_points(TRUTH, hills())) == {"success": False}


@pytest.mark.parametrize("kind", KINDS)
def test_too_few_or_invalid_points_fail(kind: str) -> None:
    name, parameters = KINDS[kind]
    step = step_of("Registration3D", name)(parameters)
    line, spot = np.outer(np.arange(50.0), [0.1, 0.2, 0.3]), np.ones((50, 3))
    for broken in (np.zeros((0, 3)), hills()[:2], np.full((9, 3), np.nan), line, spot):
        assert register(step, broken, hills()) == {"success": False}
        assert register(step, hills(), broken) == {"success": False}
    holes = np.concatenate([np.full((9, 3), np.nan), hills()])
    assert register(step, holes, transform_points(TRUTH, holes))["success"]


def test_outlier_fraction_is_excluded_on_request() -> None:
    rest = np.random.default_rng(5).uniform([-1, -1, 3.5], [1, 1, 5.5], (600, 3))
    parameters = {"FinalOverlapRatio": 0.8, "MinimumErrorReduction": 1e-9, "MaximumNumberOfIterations": 100}
    source, sink = np.concatenate([hills(), rest]), transform_points(TRUTH, hills())
    result = register(step_of("Registration3D", "IcpCC")({GENERAL: parameters}), source, sink)
    assert errors(result["transform"])[0] < 2e-3
    whole = register(
        step_of("Registration3D", "IcpCC")({GENERAL: {**parameters, "FinalOverlapRatio": 1.0}}), source, sink
    )
    assert not whole["success"] or errors(whole["transform"])[0] > 0.05
    far = {**parameters, "FinalOverlapRatio": 1.0, "FarthestPointsAreFilteredOut": True, "SamplingLimit": 2000}
    some = register(step_of("Registration3D", "IcpCC")({GENERAL: far}), np.concatenate([hills(), rest[:30] + 3]), sink)
    assert errors(some["transform"])[0] < 1e-2


def test_points_are_filtered_by_distance_on_request() -> None:
    limit = {"UseOnSource": True, "UseOnSink": True, "ThresholdDimension": "AxisZ", "DistanceThreshold": 5.0}
    parameters = {
        GENERAL: {"UseDefault": False},
        "DistanceLimitPrefilter": {**limit, "RemovePointsWithinThreshold": False},
    }
    rest = np.random.default_rng(5).uniform([-1, -1, 8], [1, 1, 10], (3000, 3))
    source, sink = np.concatenate([hills(), rest]), np.concatenate([transform_points(TRUTH, hills()), rest + 0.4])
    result = register(step_of("Registration3D", "IcpMatcher")(parameters), source, sink)
    assert errors(result["transform"])[0] < 2e-3
    parameters["DistanceLimitPrefilter"]["RemovePointsWithinThreshold"] = True
    parameters["DistanceLimitPrefilter"]["DistanceThreshold"] = 50.0
    assert register(step_of("Registration3D", "IcpMatcher")(parameters), source, sink) == {"success": False}


def test_prefilters_run_in_the_order_of_their_steps() -> None:
    def kept(random_at: int) -> Cloud:
        sampling = {"UseOnSink": True, "StepOnSink": random_at, "Probability": 0.01}
        step = step_of("Registration3D", "IcpMatcher")({
            GENERAL: {"UseDefault": False}, "RandomSamplingPrefilter": sampling,
            "SamplingSurfaceNormalPrefilter": {"StepOnSink": 5, "NumberOfNeighbours": 8},
        })  # fmt: skip
        cloud: Cloud = step._filter_cloud(Cloud(points=hills()), "Sink")  # type: ignore[attr-defined]
        return cloud

    before, after = kept(1), kept(9)
    np.testing.assert_array_equal(before.points, after.points)
    assert 10 < len(after.points) < 60 and after.normals is not None and before.normals is not None
    x, y = after.points[:, 0], after.points[:, 1]
    along_x, along_y = 0.6 * np.cos(3 * x) - 0.15 * np.sin(4 * y + x), -0.6 * np.sin(4 * y + x)
    slope = np.stack([along_x, along_y, -np.ones(len(x))], axis=1)
    true = slope / np.linalg.norm(slope, axis=1, keepdims=True)
    angles = [np.arccos(np.minimum(1, np.abs(np.sum(true * each.normals, axis=1)))) for each in (after, before)]
    assert np.median(angles[0]) < 0.05 < np.median(angles[1]), "normals of all points, normals of the few that are left"


def test_settings_without_effect_are_rejected() -> None:
    """The authors' own files say UseDefault and much more, which never held."""
    parameters = {GENERAL: {"UseDefault": True}, "TrimmedDistancePostfilter": {"Ratio": 0.5}}
    with pytest.raises(UsageError, match=r"IcpMatcher: TrimmedDistancePostfilter\.Ratio would mean nothing"):
        step_of("Registration3D", "IcpMatcher")(parameters)


def test_features_are_registered_by_their_points() -> None:
    step = step_of("FeaturesMatching3D", "Icp3D")({GENERAL: {"MaxCorrespondenceDistance": 0.2}})
    source, sink = hills(200), transform_points(TRUTH, hills(200))
    outputs = step.process(sourceFeatures=Features3D(points=source), sinkFeatures=Features3D(points=sink))
    assert outputs["success"] and errors(outputs["transform"])[0] < 2e-3
    assert step.process(sourceFeatures=Features3D(points=source[:0]), sinkFeatures=Features3D(points=sink)) == {
        "success": False
    }


def test_downsampled_clouds_are_prepared_once() -> None:
    parameters = {GENERAL: {"MaxCorrespondenceDistance": 0.2, "Method": "Gicp", "VoxelResolution": 0.05}}
    step, clouds = (
        step_of("Registration3D", "Icp3D")(parameters),
        [Cloud(points=transform_points(TRUTH, hills())), Cloud(points=hills())],
    )
    first = step.process(sourceCloud=clouds[1], sinkCloud=clouds[0])
    again = step.process(sourceCloud=clouds[1], sinkCloud=clouds[0])
    assert errors(first["transform"])[0] < 5e-3
    assert first["transform"].tobytes() == again["transform"].tobytes()


def ground(noise_m: float, wall: bool) -> Array:
    """Flat ground of 3 m by 3 m, with the neighbours' errors alike as a stereo matcher's are, and a corner of walls."""
    random = np.random.default_rng(7)
    x, y = (each.ravel() for each in np.mgrid[0:3:0.05, 0:3:0.05])
    rough = np.kron(random.normal(0, noise_m, (20, 20)), np.ones((3, 3))).ravel()
    parts = [np.column_stack([x, y, rough])]
    if wall:
        parts += [np.column_stack([rough, x, y / 3]), np.column_stack([x, rough, y / 3])]
    return np.concatenate(parts) + np.array([0, 0, 2.0])


@pytest.mark.parametrize(
    ("noise_m", "wall", "least", "most"), [(0.02, False, 0, 4), (0.01, False, 0, 4), (0.01, True, 9, 1e3)]
)
def test_relief_of_flat_ground_is_its_noise_and_of_corner_is_more(
    noise_m: float, wall: bool, least: float, most: float
) -> None:
    outputs = step_of("ReliefMeasurement", "SurfaceRelief")().process(pointCloud=Cloud(points=ground(noise_m, wall)))
    assert least < outputs["relief"] < most
    assert outputs["success"] == wall


def test_hills_have_relief_and_empty_cloud_has_none() -> None:
    step = step_of("ReliefMeasurement", "SurfaceRelief")()
    assert step.process(pointCloud=Cloud(points=hills()))["success"]
    assert step.process(pointCloud=Cloud(points=np.zeros((0, 3)))) == {"success": False, "relief": 0.0}


def test_registration_that_depends_on_its_start_fails() -> None:
    step = step_of("Registration3D", "Icp3D")(
        {GENERAL: {"MaxCorrespondenceDistance": 0.2, "Method": "Plane", "ReturnDistance": 0.1}}
    )
    corner = ground(0.0, wall=True)
    result = register(step, transform_points(inverse_from_transform(TRUTH), corner), corner)
    assert result["success"] and max(errors(result["transform"])) < 0.002
    floor = ground(0.0, wall=False)
    assert register(step, transform_points(inverse_from_transform(TRUTH), floor), floor) == {"success": False}
