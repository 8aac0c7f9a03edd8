"""Points that stand out in a cloud, what describes them, and a model found by them in a scene."""

from itertools import combinations
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
from fieldplay_cdff.steps import histograms
from fieldplay_cdff.steps.histograms import pair_features
from fieldplay_cdff.steps.neighbours import surfaces_of, voxel_means
from fieldplay_cdff.steps.step import Step, step_of
from fieldplay_cdff.steps.values import Array, Cloud, Features3D
from fieldplay_cdff.stereo.refusals import Reason

GENERAL, NORMALS = "GeneralParameters", "NormalEstimationParameters"
TRUTH = transform_from_vectors(np.array([0.3, -0.5, 0.9]), np.array([1.0, -2.0, 0.5]))


def box(step: float = 0.05) -> Array:
    """Three faces of a cube that meet in (0, 0, 2), as seen from the origin."""
    a, b = (axis.ravel() for axis in np.meshgrid(*[np.arange(step, 1, step)] * 2))
    zero = np.zeros_like(a)
    rim = np.arange(0, 1, step)
    faces = [np.stack(columns, axis=1) for columns in ((a, b, zero), (a, zero, b), (zero, a, b))]
    edges = [np.outer(rim[1:], axis) for axis in np.eye(3)]
    turned = transform_from_vectors(np.array([0.6, -0.6, 0]), np.array([0, 0, 2.0]))
    return transform_points(turned, np.concatenate([np.zeros((1, 3)), *edges, *faces]))


def roof(step: float = 0.05) -> Array:
    """Two slopes that meet in a ridge above y = 0."""
    x, y = (axis.ravel() for axis in np.meshgrid(np.arange(0, 2.01, step), np.arange(-1, 1.01, step)))
    return np.stack([x, y, 3 + np.abs(y)], axis=1)


def detect(name: str, points: Array, **general: Any) -> Features3D:
    step = step_of("FeaturesExtraction3D", name)({GENERAL: general})
    features: Features3D = step.process(pointcloud=Cloud(points=points))["features"]
    return features


@pytest.mark.parametrize("method", ["Harris", "Noble", "Lowe", "Tomasi"])
def test_box_corner_is_strongest_keypoint(method: str) -> None:
    general = {"Radius": 0.12, "SearchRadius": 0.2, "HarrisMethod": method}
    features = detect("HarrisDetector3D", box(), **general, OutputFormat="References")
    assert features.references is not None
    distances = np.linalg.norm(features.points - [0, 0, 2], axis=1)
    assert distances.min() < 0.1, method
    np.testing.assert_array_equal(box()[features.references], features.points)
    gaps = [np.linalg.norm(one - other) for one, other in combinations(features.points, 2)]
    assert min(gaps, default=1) > 0.2, "neighbours are suppressed"
    every = detect("HarrisDetector3D", box(), **general, NonMaxSuppression=False)
    assert len(every) > len(features) and every.references is None


def test_corner_is_refined_to_plane_intersection() -> None:
    cut = box()[np.linalg.norm(box() - [0, 0, 2], axis=1) > 0.06]
    rough, fine = (
        detect("HarrisDetector3D", cut, Radius=0.1, SearchRadius=0.3, DetectionThreshold=0.01, EnableRefinement=refined)
        for refined in (False, True)
    )
    errors = [np.linalg.norm(features.points - [0, 0, 2], axis=1).min() for features in (rough, fine)]
    assert errors[1] < 0.02 < errors[0]


def test_flat_ground_has_no_corners() -> None:
    floor = roof() * [1, 1, 0] + np.array([0, 0, 3.0])
    for method in ("Harris", "Noble", "Lowe", "Tomasi", "Curvature"):
        assert len(detect("HarrisDetector3D", floor, Radius=0.12, SearchRadius=0.2, HarrisMethod=method)) == 0
    assert len(detect("IssDetector3D", floor, SalientRadius=0.2, NonMaximaSupressionRadius=0.2)) == 0
    assert len(detect("CornerDetector3D", floor, NumberOfNeighboursNormalEstimation=10)) == 0
    assert len(detect("HarrisDetector3D", floor)) == 0, "the published radius of 1 cm holds no neighbours here"


def test_curvature_is_largest_along_edges() -> None:
    features = detect("HarrisDetector3D", roof(), Radius=0.12, SearchRadius=0.3, HarrisMethod="Curvature")
    assert len(features) > 2 and np.abs(features.points[:, 1]).max() <= 0.11


def test_points_are_salient_where_eigenvalues_differ() -> None:
    points, radius, distance = np.random.default_rng(0).normal(size=(300, 3)) * [1, 0.6, 0.3], 0.5, 0.4
    distances = np.linalg.norm(points[:, None] - points[None], axis=2)
    saliency = np.zeros(len(points))
    for index, point in enumerate(points):
        near = points[(distances[index] <= radius) & (distances[index] > 0)] - point
        if len(near) >= 5:
            lengths = np.linalg.eigvalsh(near.T @ near / (len(near) + 1))
            if lengths[1] < 0.9 * lengths[2] and lengths[0] < 0.8 * lengths[1]:
                saliency[index] = lengths[0]
    expected = [
        index for index in np.flatnonzero(saliency) if saliency[index] >= saliency[distances[index] <= distance].max()
    ]
    features = detect(
        "IssDetector3D", points, SalientRadius=radius, NonMaximaSupressionRadius=distance, FirstThreshold=0.9,
        SecondThreshold=0.8, OutputFormat="References",
    )  # fmt: skip
    assert features.references is not None
    assert sorted(features.references.tolist()) == expected


def test_rim_points_are_excluded_on_request() -> None:
    x, y = (axis.ravel() for axis in np.meshgrid(np.arange(0, 2.01, 0.05), np.arange(0, 2.01, 0.05)))
    hills = np.stack([x, y, np.random.default_rng(0).normal(0, 0.02, x.shape)], axis=1)
    general = {"SalientRadius": 0.2, "FirstThreshold": 1.0, "SecondThreshold": 1.0}
    is_on_rim = [
        ((features.points[:, :2] < 0.01) | (features.points[:, :2] > 1.99)).any()
        for features in (detect("IssDetector3D", hills, **general, NormalRadius=radius) for radius in (0.0, 0.15))
    ]
    assert is_on_rim == [True, False]


def test_corners_are_where_smooth_regions_meet_not_on_rim() -> None:
    features = detect("CornerDetector3D", roof(), NumberOfNeighboursNormalEstimation=9)
    assert len(features) > 20
    assert np.abs(features.points[:, 1]).max() < 0.2, "at the ridge"
    assert features.points[:, 0].min() > 0 and features.points[:, 0].max() < 2
    assert len(detect("CornerDetector3D", roof(), NumberOfNeighboursNormalEstimation=9, MinimumClusterSize=1500)) == 0


@pytest.mark.parametrize("name", ["HarrisDetector3D", "IssDetector3D", "CornerDetector3D"])
def test_indices_refer_to_original_cloud_and_too_few_points_are_reported(name: str) -> None:
    radii = {"Radius": 0.1, "SearchRadius": 0.2} if name == "HarrisDetector3D" else {}
    radii = {"SalientRadius": 0.2, "NonMaximaSupressionRadius": 0.2} if name == "IssDetector3D" else radii
    holes = np.concatenate([np.full((7, 3), np.nan), box()])
    features = detect(name, holes, **radii, OutputFormat="References")
    assert features.references is not None and len(features)
    np.testing.assert_array_equal(holes[features.references], features.points)
    for few in (np.zeros((0, 3)), np.full((9, 3), np.nan)):
        with pytest.raises(ValueError, match="pointcloud: expected 3 or more points, got 0 of"):
            detect(name, few)


def test_pair_features_match_reference() -> None:
    one, other = np.array([[0.1, 0.2, 1]]), np.array([[0.15, 0.18, 1.02]])
    down, tilted = np.array([[0, 0, -1.0]]), np.array([[0.6, 0, -0.8]])
    expected = [[0.608277160, 0.222834406, -0.348155312]]
    for pair in ((one, down, other, tilted), (other, tilted, one, down)):
        features, is_known = pair_features(*pair)
        np.testing.assert_allclose(features, expected, atol=1e-9)
        assert is_known.all()
    assert not pair_features(one, down, one, tilted)[1].any()


def describe(name: str, cloud: Cloud, features: Features3D, radius: float, **normals: Any) -> Features3D:
    parameters = {GENERAL: {"SearchRadius": radius, "ForceNormalsEstimation": not normals}}
    step = step_of("FeaturesDescription3D", name)(parameters)
    out: Features3D = step.process(pointcloud=cloud, features=features, **normals)["features"]
    return out


def brute_bins(points: Array, normals: Array, one: int, other: int, count: int) -> list[int] | None:
    features, is_known = pair_features(points[[one]], normals[[one]], points[[other]], normals[[other]])
    fractions = (features[0] - [-np.pi, -1, -1]) / [2 * np.pi, 2, 2]
    return np.minimum((fractions * count).astype(int), count - 1).tolist() if is_known[0] else None


def test_histograms_match_all_pairs() -> None:
    points = np.random.default_rng(2).uniform(size=(30, 3))
    normals, _ = surfaces_of(points, nearest=10)
    distances, radius = np.linalg.norm(points[:, None] - points[None], axis=2), 0.5
    near = [np.flatnonzero((row <= radius) & (row > 0)) for row in distances]
    simple, whole = np.zeros((30, 3, 11)), np.zeros((8, 125))
    for index in range(30):
        for other in near[index]:
            for third, slot in enumerate(brute_bins(points, normals, index, other, 11) or []):
                simple[index, third, slot] += 100 / len(near[index])
    for index in range(8):
        for one, other in combinations(sorted([index, *near[index]]), 2):
            bins = brute_bins(points, normals, one, other, 5)
            whole[index, np.dot(bins, [1, 5, 25])] += 1
    fast = np.array([
        simple[index] + sum(simple[other] / distances[index, other] for other in near[index]) for index in range(30)
    ])  # fmt: skip
    fast *= 100 / fast.sum(axis=2, keepdims=True)
    whole *= 100 / whole.sum(axis=1, keepdims=True)
    cloud, features = Cloud(points=points), Features3D(points=points[:8])
    for name, expected in (("FpfhDescriptor3D", fast.reshape(30, 33)[:8]), ("PfhDescriptor3D", whole)):
        for options in ({}, {"normals": Cloud(points=points, normals=normals)}):
            out = describe(name, cloud, features, radius, **options)
            np.testing.assert_allclose(out.descriptors, expected, rtol=1e-5, atol=1e-4)


def test_histograms_are_the_same_whatever_is_looked_at_together(monkeypatch: pytest.MonkeyPatch) -> None:
    points = np.random.default_rng(3).uniform(size=(400, 3))
    cloud, features = Cloud(points=points), Features3D(points=points[::7])
    whole = describe("FpfhDescriptor3D", cloud, features, 0.3).descriptors
    monkeypatch.setattr(histograms, "NEIGHBOURS_AT_ONCE", 500)
    np.testing.assert_array_equal(describe("FpfhDescriptor3D", cloud, features, 0.3).descriptors, whole)
    nothing = Features3D(points=np.zeros((0, 3)))
    assert len(describe("FpfhDescriptor3D", cloud, nothing, 0.3)) == 0


def test_point_without_neighbours_has_placeholder_descriptor() -> None:
    points = np.concatenate([box(), [[9.0, 9, 9]]])
    for name in ("FpfhDescriptor3D", "PfhDescriptor3D"):
        out = describe(name, Cloud(points=points), Features3D(points=points[-1:]), 0.2)
        assert (out.descriptors == 1000).all()
        assert len(describe(name, Cloud(points=points), Features3D(points=points[:0]), 0.2)) == 0


def test_inconsistent_radii_and_normals_are_reported() -> None:
    step = step_of("FeaturesDescription3D", "FpfhDescriptor3D")
    for radius, count in ((0.1, 10), (0.0, 0)):
        with pytest.raises(UsageError, match=f"or a NeighboursSetSize above 0, got {radius:g} and {count}"):
            step({NORMALS: {"SearchRadius": radius, "NeighboursSetSize": count}})
    with pytest.raises(UsageError, match=r"expected a radius of normals below 0\.01, that of descriptors, got 0\.02"):
        step_of("FeaturesDescription3D", "PfhDescriptor3D")({NORMALS: {"SearchRadius": 0.02, "NeighboursSetSize": 0}})
    with pytest.raises(ValueError, match="normals: expected a cloud with normals, got none"):
        step({GENERAL: {"EnableNormalsEstimation": False, "ForceNormalsEstimation": False}}).process(
            pointcloud=Cloud(points=box()), features=Features3D(points=box()[:1])
        )
    with pytest.raises(ValueError, match="pointcloud: expected 3 or more points with normals, got 0"):
        step().process(pointcloud=Cloud(points=np.zeros((0, 3))), features=Features3D(points=box()[:1]))


def scene_and_model() -> tuple[Features3D, Features3D]:
    """Features of a bent surface, and of half of it elsewhere."""
    x, y = np.random.default_rng(0).uniform(0, 2, (2, 3000))
    points = np.stack([x, y, 3 + 0.3 * np.sin(3 * x) * np.cos(2 * y) + 0.1 * np.sin(9 * x + 4 * y)], axis=1)
    scene = describe("FpfhDescriptor3D", Cloud(points=points), Features3D(points=points[::12]), 0.25)
    half = points[points[:, 0] < 1.2]
    own = half[::8]
    model = describe("FpfhDescriptor3D", Cloud(points=half), Features3D(points=own), 0.25)
    own = transform_points(inverse_from_transform(TRUTH), own)
    return scene, Features3D(points=own, descriptors=model.descriptors)


@pytest.mark.parametrize(
    ("name", "general"),
    [
        ("Ransac3D", {"MaxCorrespondenceDistance": 0.06, "SimilarityThreshold": 0.8, "MaximumIterations": 20000}),
        ("BestDescriptorMatch", {"MaxCorrespondenceDistance": 0.3, "InlierDistance": 0.15, "MinimumInlierShare": 0.1}),
    ],
)
def test_model_is_found_in_scene_deterministically(name: str, general: dict[str, Any]) -> None:
    scene, model = scene_and_model()
    results = [
        step_of("FeaturesMatching3D", name)({GENERAL: general}).process(sourceFeatures=model, sinkFeatures=scene)
        for _ in "ab"
    ]
    assert results[0]["success"]
    difference = inverse_from_transform(TRUTH) @ results[0]["transform"]
    assert np.linalg.norm(vector_from_rotation(difference[:3, :3])) < 0.1, "scene_T_model, which the original inverts"
    centre = model.points.mean(axis=0)
    assert (
        np.linalg.norm(transform_points(results[0]["transform"], centre[None]) - transform_points(TRUTH, centre[None]))
        < 0.1
    )
    assert results[0]["transform"].tobytes() == results[1]["transform"].tobytes()
    step = step_of("FeaturesMatching3D", name)({GENERAL: general})
    empty = Features3D(points=np.zeros((0, 3)))
    assert step.process(sourceFeatures=empty, sinkFeatures=scene) == {"success": False}
    with pytest.raises(ValueError, match="expected descriptors of one kind, got some of 33 and of 125 numbers"):
        step.process(
            sourceFeatures=model,
            sinkFeatures=Features3D(points=scene.points[:9], descriptors=np.zeros((9, 125), np.float32)),
        )
    with pytest.raises(ValueError, match="expected features with descriptors, got points alone"):
        step.process(sourceFeatures=Features3D(points=box()), sinkFeatures=empty)
    line = Features3D(points=np.outer(np.arange(9.0), [1, 2, 3]), descriptors=np.ones((9, 33), np.float32))
    assert step.process(sourceFeatures=line, sinkFeatures=scene) == {"success": False}
    strays = np.concatenate([np.full((5, 3), np.nan), np.ones((5, 3)), np.full((5, 3), np.inf)])
    marks = np.concatenate([np.ones((5, 33)), np.full((5, 33), 1000.0), np.full((5, 33), np.nan)]).astype(np.float32)
    more = [
        Features3D(
            points=np.concatenate([features.points, strays]), descriptors=np.concatenate([features.descriptors, marks])
        )
        for features in (model, scene)
    ]
    again = step.process(sourceFeatures=more[0], sinkFeatures=more[1])
    np.testing.assert_array_equal(again["transform"], results[0]["transform"])


def test_sink_is_matched_once_and_outlier_is_harmless() -> None:
    random = np.random.default_rng(0)
    points, descriptors = random.uniform(size=(12, 3)), random.uniform(size=(12, 33)).astype(np.float32)
    sink = Features3D(points=transform_points(TRUTH, points), descriptors=descriptors)
    wrong = np.concatenate([points[:10], points[[3]] + 5, points[[11]] - 3])  # one that is like another, one astray
    like = np.concatenate([descriptors[:10], descriptors[[3]] * 1.01 + random.uniform(0, 0.001, 33), descriptors[[11]]])
    step = step_of("FeaturesMatching3D", "BestDescriptorMatch")()
    outputs = step.process(
        sourceFeatures=Features3D(points=wrong, descriptors=like.astype(np.float32)), sinkFeatures=sink
    )
    np.testing.assert_allclose(outputs["transform"], TRUTH, atol=1e-9)
    assert outputs["quality"] == pytest.approx(10 / 11)


def egg(seed: int, *, bump: float) -> Array:
    """Points on an ellipsoid, with a bump on one side of it that alone tells its orientation."""
    directions = np.random.default_rng(seed).normal(size=(4000, 3))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    at = np.array([0.6, 0.5, 0.62]) / np.linalg.norm([0.6, 0.5, 0.62])
    heights = 1 + bump * np.exp(-np.sum((directions - at) ** 2, axis=1) / 0.15)
    points: Array = directions * [0.15, 0.1, 0.07] * heights[:, None] + [0, 0, 1]
    return voxel_means(Cloud(points=points), 0.012).points


def matched(model: Array, scene: Array, seed: int) -> tuple[dict[str, Any], Step]:
    """What Ransac3D finds with a limit that is a third of the body's length, as in an authors' file."""
    general = {"MaxCorrespondenceDistance": 0.1, "SimilarityThreshold": 0.8, "InlierFraction": 0.75}
    step = step_of("FeaturesMatching3D", "Ransac3D")({GENERAL: general}, seed=seed)
    source, sink = (
        describe("FpfhDescriptor3D", Cloud(points=points), Features3D(points=points), 0.04) for points in (model, scene)
    )
    return step.process(sourceFeatures=source, sinkFeatures=sink), step


@pytest.mark.parametrize("seed", range(5))
def test_model_is_not_turned_by_half_though_the_limit_would_allow_it(seed: int) -> None:
    model = egg(0, bump=0.8)
    result, _ = matched(model, transform_points(TRUTH, egg(seed + 1, bump=0.8)), seed)
    assert result["success"]
    off = transform_points(result["transform"], model) - transform_points(TRUTH, model)
    assert np.sqrt(np.mean(np.sum(off**2, axis=1))) < 0.012, "within the spacing of the points"


@pytest.mark.parametrize("seed", range(3))
def test_model_that_fits_as_well_when_turned_by_half_is_refused(seed: int) -> None:
    result, step = matched(egg(0, bump=0.0), transform_points(TRUTH, egg(seed + 1, bump=0.0)), seed)
    assert result == {"success": False}
    assert step.refusal is not None and step.refusal.reason == Reason.AMBIGUOUS_MODEL
    assert "another orientation fits" in step.refusal.detail


@pytest.mark.parametrize("name", ["FpfhDescriptor3D", "PfhDescriptor3D"])
def test_dense_cloud_is_thinned_to_the_number_of_neighbours(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = np.random.default_rng(3).uniform(-0.5, 0.5, (2, 20_000))
    cloud = Cloud(points=np.stack([x, y, 2 + 0.1 * np.sin(6 * x) * np.cos(5 * y)], axis=1))
    features = Features3D(points=cloud.points[::500])
    sizes, kind = [], step_of("FeaturesDescription3D", name)
    describe_all = kind.describe

    def describe_and_count(self: Step, points: Array, *others: Any) -> Array:
        sizes.append(len(points))
        result: Array = describe_all(self, points, *others)
        return result

    monkeypatch.setattr(kind, "describe", describe_and_count)
    results = []
    for most in (0, 100):
        general = {"SearchRadius": 0.06, "MaximumNeighbours": most, "OutputFormat": "References"}
        normals = {"SearchRadius": 0.03, "NeighboursSetSize": 0}
        own = kind({GENERAL: general, NORMALS: normals}).process(pointcloud=cloud, features=features)["features"]
        np.testing.assert_array_equal(own.references, np.arange(0, 20_000, 500), "of the cloud as it came")
        results.append(own.descriptors / np.linalg.norm(own.descriptors, axis=1, keepdims=True))
    assert sizes[0] == 20_000 and 100 / (np.pi * 0.06**2) * 0.8 < sizes[1] < 100 / (np.pi * 0.06**2) * 1.6
    assert np.median(np.sum(results[0] * results[1], axis=1)) > 0.98
