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
    found: Features2D = step_of("FeaturesExtraction2D", "OrbDetectorDescriptor")().process(frame=Frame(image=image))[
        "features"
    ]
    return found


def matched(source: Features2D, sink: Features2D, **general: object) -> Matches2D:
    step = step_of("FeaturesMatching2D", "FlannMatcher")({"GeneralParameters": general})
    found: Matches2D = step.process(sourceFeatures=source, sinkFeatures=sink)["matches"]
    return found


def numbers(points: list[tuple[float, float]], descriptors: list[list[float]]) -> Features2D:
    return Features2D(points=np.array(points), descriptors=np.array(descriptors, np.float32))


def test_corners_have_the_response_of_harris() -> None:
    image = np.zeros((16, 16), np.uint8)
    image[5:11, 5:11] = 200
    step = step_of("FeaturesExtraction2D", "HarrisDetector2D")()
    found = step.process(frame=Frame(image=image))["features"]
    assert found.points.tolist() == [[5, 5], [10, 5], [5, 10], [10, 10]]
    assert found.response == pytest.approx(3.6777906e-2, rel=1e-4)
    assert found.size.tolist() == [3] * 4
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
    found = step.process(frame=colours)["features"]
    assert np.array_equal(found.points, step.process(frame=Frame(image=image))["features"].points)


def test_orb_finds_and_describes_the_same_points_alike() -> None:
    image = spots()
    found = orb(image)
    assert 100 < len(found) <= 500
    assert (found.descriptors.shape, found.descriptors.dtype) == ((len(found), 32), np.uint8)
    again = step_of("FeaturesDescription2D", "OrbDescriptor")().process(frame=Frame(image=image), features=found)
    described: Features2D = again["features"]
    assert np.array_equal(described.points, found.points.astype(np.float32))
    assert np.mean(described.descriptors == found.descriptors) > 0.99
    upright = Features2D(points=np.array([[100.0, 90.0], [2.0, 2.0], [np.nan, 9.0], [60.0, 50.0]]))
    few = step_of("FeaturesDescription2D", "OrbDescriptor")().process(frame=Frame(image=image), features=upright)
    assert few["features"].points.tolist() == [[100, 90], [60, 50]], "without those at the edge, in their order"


def test_a_moved_image_is_matched_the_same_each_time() -> None:
    image = spots(size=300)
    source, sink = orb(image[:280, :280].copy()), orb(image[10:290, 6:286].copy())
    found = matched(source, sink)
    assert len(found) > 100
    shift = found.source - found.sink
    assert np.mean(np.abs(shift - [6, 10]).max(axis=1) < 2) > 0.95
    assert ((found.probability > 0.5) & (found.probability <= 1)).all()
    assert found.distances is not None
    assert len(found.distances) == len(source)
    again = matched(source, sink, MatcherMethod="LocalitySensitiveHashing")
    assert np.array_equal(again.source, found.source)
    mutual = matched(source, sink, MutualOnly=True)
    assert 0.9 * len(found) < len(mutual) <= len(found)


def test_a_match_is_much_nearer_than_the_second_and_takes_points_once() -> None:
    source = numbers([(1, 1), (2, 2), (3, 3), (1, 1), (4, 4), (5, 5)], [[0.0], [1.0], [5.5], [9.0], [0.004], [np.nan]])
    sink = numbers([(10, 10), (20, 20), (30, 30)], [[0.01], [2.0], [9.5]])
    found = matched(source, sink)
    assert found.source.tolist() == [[1, 1]], "(2, 2) and (3, 3) are between, (1, 1) and (10, 10) are taken"
    assert found.sink.tolist() == [[10, 10]]
    assert found.probability == pytest.approx([np.exp(-0.5 * 0.25)], rel=1e-6)


def test_nothing_matches_nothing_and_other_descriptors_are_refused() -> None:
    nothing, some = Features2D(points=np.zeros((0, 2))), orb(spots())
    assert len(matched(nothing, some)) == len(matched(some, nothing)) == 0
    with pytest.raises(ValueError, match=r"sinkFeatures: expected descriptors of 32 uint8 .* got 1 float32"):
        matched(some, numbers([(1, 1), (2, 2)], [[1.0], [2.0]]))
    with pytest.raises(ValueError, match=r"sinkFeatures: expected a descriptor of each of \d+ points, got 0"):
        matched(some, replace(some, descriptors=np.zeros((0, 32), np.uint8)))


def test_matches_are_moved_to_parts_of_a_pixel_and_those_far_off_go() -> None:
    wide = cv2.GaussianBlur(spots(size=300), (0, 0), 1.5)
    moved = cv2.warpAffine(wide, np.array([[1, 0, 3.3], [0, 1, -2.6]]), (300, 300), flags=cv2.INTER_CUBIC)
    source = np.random.default_rng(0).uniform(40, 260, (50, 2))
    off = np.tile([1.5, -1.0], (50, 1))
    off[:5] = [40, 0]
    matches = Matches2D(source=source, sink=source + np.array([3.3, -2.6]) + off, probability=np.linspace(0, 1, 50))
    step = step_of("MatchRefinement", "LucasKanade")()
    found = step.process(sourceFrame=Frame(image=wide), sinkFrame=Frame(image=moved), matches=matches)
    kept: Matches2D = found["matches"]
    true = np.isin(matches.probability[5:], kept.probability)
    assert true.mean() > 0.95
    near = np.isin(kept.probability, matches.probability[5:])
    assert np.abs(kept.sink - kept.source - [3.3, -2.6])[near].max() < 0.1
    assert found["quality"] == len(kept) / 50
    assert set(map(tuple, kept.source)) <= set(map(tuple, source)), "the source stays as it is"
    nothing = step.process(
        sourceFrame=Frame(image=wide), sinkFrame=Frame(image=moved), matches=matches.subset(source[:0, 0] > 0)
    )
    assert (len(nothing["matches"]), nothing["quality"]) == (0, 0.0)
    with pytest.raises(
        ValueError, match="sinkFrame: expected a picture of 300 x 300 pixels as sourceFrame, got 200 x 200"
    ):
        step.process(sourceFrame=Frame(image=wide), sinkFrame=Frame(image=spots()), matches=matches)


def test_matches_that_turn_otherwise_than_most_go() -> None:
    image = spots(size=400)
    turn = cv2.getRotationMatrix2D((199.5, 199.5), 30, 1.0)
    source, sink = orb(image), orb(np.asarray(cv2.warpAffine(image, turn, (400, 400)), np.uint8))
    wide = {"AcceptanceRatio": 1.0, "MutualOnly": True}

    def share(found: Matches2D) -> float:
        off = found.source @ turn[:, :2].T + turn[:, 2] - found.sink
        return float(np.mean(np.linalg.norm(off, axis=1) < 3))

    every, alike = matched(source, sink, **wide), matched(source, sink, **wide, MaximumTurn=15.0)
    assert share(alike) > share(every) + 0.1
    assert share(alike) * len(alike) > 0.95 * share(every) * len(every)
    assert agreeing_rotations(np.array([350.0, 3.0, 8.0, 120.0]), 15.0).tolist() == [True, True, True, False]
    assert agreeing_rotations(np.zeros(0), 15.0).tolist() == []


def test_of_a_rectified_pair_only_features_of_the_same_lines_are_compared() -> None:
    source = numbers([(50, 10), (50, 30), (50, 60)], [[0.0], [0.0], [5.0]])
    sink = numbers([(40, 11), (40, 12), (40, 29), (40, 31), (40, 90)], [[0.1], [0.9], [0.2], [0.9], [5.0]])
    loose = {"AcceptanceRatio": 1.0}
    assert len(matched(source, sink, **loose)) == 2, "both first are most like the first"
    in_rows = matched(source, sink, **loose, MaximumRowDifference=2.5)
    assert in_rows.source.tolist() == [[50, 10], [50, 30]]
    assert in_rows.sink.tolist() == [[40, 11], [40, 29]]
    image = spots(size=400)
    left, right = orb(image), orb(np.roll(image, -12, axis=1))
    found = matched(left, right, **loose, MutualOnly=True, MaximumRowDifference=2.0)
    assert len(found) > 0.7 * len(left)
    assert np.median(found.source - found.sink, axis=0).tolist() == [12, 0]


def test_corners_are_spread_and_noise_has_none() -> None:
    board = np.kron(np.indices((6, 8)).sum(axis=0) % 2, np.ones((20, 20))).astype(np.uint8) * 200
    step = step_of("FeaturesExtraction2D", "SpreadCorners")({"GeneralParameters": {"MinimumDistance": 12.0}})
    points = step.process(frame=Frame(image=board))["features"].points
    inner = np.stack(np.meshgrid(np.arange(1, 8) * 20.0, np.arange(1, 6) * 20.0), axis=-1).reshape(-1, 2) - 0.5
    assert len(points) == len(inner)
    assert np.linalg.norm(points[:, None] - inner, axis=2).min(axis=1).max() < 2.5
    noise = np.random.default_rng(1).normal(100, 2, (120, 160)).clip(0, 255).astype(np.uint8)
    assert len(step.process(frame=Frame(image=noise))["features"]) == 0
