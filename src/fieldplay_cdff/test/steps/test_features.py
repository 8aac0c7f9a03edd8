from dataclasses import replace

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from fieldplay_cdff.steps.features import agreeing_rotations
from fieldplay_cdff.steps.step import step_of
from fieldplay_cdff.steps.values import Features2D, Frame, Matches2D


def spots(seed: int = 0, size: int = 200) -> NDArray[np.uint8]:
    noise = np.random.default_rng(seed).integers(0, 256, (size // 4, size // 4)).astype(np.uint8)
    return np.asarray(cv2.resize(noise, (size, size), interpolation=cv2.INTER_CUBIC), np.uint8)


def orb(image: NDArray[np.uint8]) -> Features2D:
    features: Features2D = step_of("FeaturesExtraction2D", "OrbDetectorDescriptor")().process(frame=Frame(image=image))[
        "features"
    ]
    return features


def match_features(source: Features2D, sink: Features2D, **general: object) -> Matches2D:
    step = step_of("FeaturesMatching2D", "FlannMatcher")({"GeneralParameters": general})
    matches: Matches2D = step.process(sourceFeatures=source, sinkFeatures=sink)["matches"]
    return matches


def numbers(points: list[tuple[float, float]], descriptors: list[list[float]]) -> Features2D:
    return Features2D(points=np.array(points), descriptors=np.array(descriptors, np.float32))


def test_corners_have_response_of_harris() -> None:
    image = np.zeros((16, 16), np.uint8)
    image[5:11, 5:11] = 200
    step = step_of("FeaturesExtraction2D", "HarrisDetector2D")()
    features = step.process(frame=Frame(image=image))["features"]
    assert features.points.tolist() == [[5, 5], [10, 5], [5, 10], [10, 10]]
    assert features.response == pytest.approx(3.6777906e-2, rel=1e-4)
    assert features.size.tolist() == [3] * 4
    many = step.process(frame=Frame(image=spots(size=800)))["features"]
    assert len(many) == 1024, "the limit of the published type"
    blurred = step_of("FeaturesExtraction2D", "HarrisDetector2D")(
        {
            "GeneralParameters": {"UseGaussianBlur": True},
            "GaussianBlur": {"KernelWidth": 5, "KernelHeight": 5, "WidthStandardDeviation": 1.0},
        }
    )
    assert len(blurred.process(frame=Frame(image=image))["features"]) == 4


def test_flat_ground_has_no_corners_and_colours_are_taken_as_grey() -> None:
    step = step_of("FeaturesExtraction2D", "HarrisDetector2D")()
    assert len(step.process(frame=Frame(image=np.full((50, 50), 90, np.uint8)))["features"]) == 0
    assert len(orb(np.zeros((100, 100), np.uint8))) == 0
    image = spots()
    colours = Frame(image=cv2.cvtColor(image, cv2.COLOR_GRAY2RGB), encoding="rgb8")
    features = step.process(frame=colours)["features"]
    assert np.array_equal(features.points, step.process(frame=Frame(image=image))["features"].points)


def test_orb_describes_same_points_equally() -> None:
    image = spots()
    features = orb(image)
    assert 100 < len(features) <= 500
    assert (features.descriptors.shape, features.descriptors.dtype) == ((len(features), 32), np.uint8)
    again = step_of("FeaturesDescription2D", "OrbDescriptor")().process(frame=Frame(image=image), features=features)
    described: Features2D = again["features"]
    assert np.array_equal(described.points, features.points.astype(np.float32))
    assert np.mean(described.descriptors == features.descriptors) > 0.99
    upright = Features2D(points=np.array([[100.0, 90.0], [2.0, 2.0], [np.nan, 9.0], [60.0, 50.0]]))
    few = step_of("FeaturesDescription2D", "OrbDescriptor")().process(frame=Frame(image=image), features=upright)
    assert few["features"].points.tolist() == [[100, 90], [60, 50]], "without those at the edge, in their order"


def test_shifted_image_is_matched_deterministically() -> None:
    image = spots(size=300)
    source, sink = orb(image[:280, :280].copy()), orb(image[10:290, 6:286].copy())
    matches = match_features(source, sink)
    assert len(matches) > 100
    shift = matches.source - matches.sink
    assert np.mean(np.abs(shift - [6, 10]).max(axis=1) < 2) > 0.95
    assert ((matches.probability > 0.5) & (matches.probability <= 1)).all()
    assert matches.distances is not None
    assert len(matches.distances) == len(source)
    again = match_features(source, sink, MatcherMethod="LocalitySensitiveHashing")
    assert np.array_equal(again.source, matches.source)
    mutual = match_features(source, sink, MutualOnly=True)
    assert 0.9 * len(matches) < len(mutual) <= len(matches)


def test_match_passes_ratio_test_and_uses_points_once() -> None:
    source = numbers([(1, 1), (2, 2), (3, 3), (1, 1), (4, 4), (5, 5)], [[0.0], [1.0], [5.5], [9.0], [0.004], [np.nan]])
    sink = numbers([(10, 10), (20, 20), (30, 30)], [[0.01], [2.0], [9.5]])
    matches = match_features(source, sink)
    assert matches.source.tolist() == [[1, 1]], "(2, 2) and (3, 3) are between, (1, 1) and (10, 10) are taken"
    assert matches.sink.tolist() == [[10, 10]]
    assert matches.probability == pytest.approx([np.exp(-0.5 * 0.25)], rel=1e-6)


def test_empty_features_match_nothing_and_other_descriptors_are_rejected() -> None:
    nothing, some = Features2D(points=np.zeros((0, 2))), orb(spots())
    assert len(match_features(nothing, some)) == len(match_features(some, nothing)) == 0
    with pytest.raises(ValueError, match=r"sinkFeatures: expected descriptors of 32 uint8 .* got 1 float32"):
        match_features(some, numbers([(1, 1), (2, 2)], [[1.0], [2.0]]))
    with pytest.raises(ValueError, match=r"sinkFeatures: expected a descriptor of each of \d+ points, got 0"):
        match_features(some, replace(some, descriptors=np.zeros((0, 32), np.uint8)))


def test_matches_are_refined_to_subpixels_and_outliers_are_dropped() -> None:
    wide = cv2.GaussianBlur(spots(size=300), (0, 0), 1.5)
    moved = cv2.warpAffine(wide, np.array([[1, 0, 3.3], [0, 1, -2.6]]), (300, 300), flags=cv2.INTER_CUBIC)
    source = np.random.default_rng(0).uniform(40, 260, (50, 2))
    off = np.tile([1.5, -1.0], (50, 1))
    off[:5] = [40, 0]
    matches = Matches2D(source=source, sink=source + np.array([3.3, -2.6]) + off, probability=np.linspace(0, 1, 50))
    step = step_of("MatchRefinement", "LucasKanade")()
    outputs = step.process(sourceFrame=Frame(image=wide), sinkFrame=Frame(image=moved), matches=matches)
    refined: Matches2D = outputs["matches"]
    true = np.isin(matches.probability[5:], refined.probability)
    assert true.mean() > 0.95
    near = np.isin(refined.probability, matches.probability[5:])
    assert np.abs(refined.sink - refined.source - [3.3, -2.6])[near].max() < 0.1
    assert outputs["quality"] == len(refined) / 50
    assert set(map(tuple, refined.source)) <= set(map(tuple, source)), "the source stays as it is"
    nothing = step.process(
        sourceFrame=Frame(image=wide), sinkFrame=Frame(image=moved), matches=matches.subset(source[:0, 0] > 0)
    )
    assert (len(nothing["matches"]), nothing["quality"]) == (0, 0.0)
    with pytest.raises(
        ValueError, match="sinkFrame: expected an image of 300 x 300 pixels as sourceFrame, got 200 x 200"
    ):
        step.process(sourceFrame=Frame(image=wide), sinkFrame=Frame(image=spots()), matches=matches)


def test_matches_with_deviating_rotation_are_dropped() -> None:
    image = spots(size=400)
    turn = cv2.getRotationMatrix2D((199.5, 199.5), 30, 1.0)
    source, sink = orb(image), orb(np.asarray(cv2.warpAffine(image, turn, (400, 400)), np.uint8))
    wide = {"AcceptanceRatio": 1.0, "MutualOnly": True}

    def inlier_fraction(matches: Matches2D) -> float:
        off = matches.source @ turn[:, :2].T + turn[:, 2] - matches.sink
        return float(np.mean(np.linalg.norm(off, axis=1) < 3))

    every, alike = match_features(source, sink, **wide), match_features(source, sink, **wide, MaximumTurn=15.0)
    assert inlier_fraction(alike) > inlier_fraction(every) + 0.1
    assert inlier_fraction(alike) * len(alike) > 0.95 * inlier_fraction(every) * len(every)
    assert agreeing_rotations(np.array([350.0, 3.0, 8.0, 120.0]), 15.0).tolist() == [True, True, True, False]
    assert agreeing_rotations(np.zeros(0), 15.0).tolist() == []


def test_rectified_pair_compares_features_of_same_rows_only() -> None:
    source = numbers([(50, 10), (50, 30), (50, 60)], [[0.0], [0.0], [5.0]])
    sink = numbers([(40, 11), (40, 12), (40, 29), (40, 31), (40, 90)], [[0.1], [0.9], [0.2], [0.9], [5.0]])
    loose = {"AcceptanceRatio": 1.0}
    assert len(match_features(source, sink, **loose)) == 2, "both first are most like the first"
    in_rows = match_features(source, sink, **loose, MaximumRowDifference=2.5)
    assert in_rows.source.tolist() == [[50, 10], [50, 30]]
    assert in_rows.sink.tolist() == [[40, 11], [40, 29]]
    image = spots(size=400)
    left, right = orb(image), orb(np.roll(image, -12, axis=1))
    matches = match_features(left, right, **loose, MutualOnly=True, MaximumRowDifference=2.0)
    assert len(matches) > 0.7 * len(left)
    assert np.median(matches.source - matches.sink, axis=0).tolist() == [12, 0]


def test_corners_are_spread_and_noise_has_none() -> None:
    board = np.kron(np.indices((6, 8)).sum(axis=0) % 2, np.ones((20, 20))).astype(np.uint8) * 200
    step = step_of("FeaturesExtraction2D", "SpreadCorners")({"GeneralParameters": {"MinimumDistance": 12.0}})
    points = step.process(frame=Frame(image=board))["features"].points
    inner = np.stack(np.meshgrid(np.arange(1, 8) * 20.0, np.arange(1, 6) * 20.0), axis=-1).reshape(-1, 2) - 0.5
    assert len(points) == len(inner)
    assert np.linalg.norm(points[:, None] - inner, axis=2).min(axis=1).max() < 2.5
    noise = np.random.default_rng(1).normal(100, 2, (120, 160)).clip(0, 255).astype(np.uint8)
    assert len(step.process(frame=Frame(image=noise))["features"]) == 0
