"""Places by synthetic codes, sightings by synthetic points: what is found, and what is not taken for it."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from fieldplay.geometry.camera_model import StereoCamera
from fieldplay.geometry.transforms import (
    inverse_from_transform,
    transform_from_vectors,
    transform_points,
    vector_from_rotation,
)
from fieldplay_cdff.steps.values import Array
from fieldplay_cdff.stereo.keyframe_map import View, codes_of
from fieldplay_cdff.stereo.place_recognition import (
    PlaceIndex,
    SightingSettings,
    code_words,
    sighting,
)

CAMERA = StereoCamera(focal_x=800.0, focal_y=810.0, center_x=500.0, center_y=400.0, baseline_m=0.1)
SIZE = (1000, 800)
LIMITS = SightingSettings(minimum_points=20, minimum_cells=6)
POSE = transform_from_vectors(np.array([0.05, -0.1, 0.2]), np.array([0.3, -0.05, 0.2]))


def random_codes(count: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (count, 32)).astype(np.uint8)


def flip_bits(codes: np.ndarray, fraction: float, seed: int) -> np.ndarray:
    """Codes of which a share of bits is another."""
    bits = np.random.default_rng(seed).random((len(codes), 256)) < fraction
    return codes ^ np.packbits(bits, axis=1)


def bare(codes: np.ndarray) -> View:
    count = len(codes)
    return View(pixels=np.zeros((count, 2), np.float32), points=np.zeros((count, 3), np.float32), codes=codes)


def view_from(pose: Array, points: Array, codes: np.ndarray, noise_px: float = 0.3, seed: int = 0) -> View:
    """What a camera at a pose sees of points (n, 3)."""
    own = transform_points(inverse_from_transform(pose), points)
    pixels = own[:, :2] / own[:, 2:] * [CAMERA.focal_x, CAMERA.focal_y] + [CAMERA.center_x, CAMERA.center_y]
    pixels += np.random.default_rng(seed).normal(0, noise_px, pixels.shape)
    return View(pixels=pixels.astype(np.float32), points=own.astype(np.float32), codes=codes)


def scene(count: int = 150) -> Array:
    random = np.random.default_rng(7)
    depth = random.uniform(2, 6, count)
    return np.column_stack([random.uniform(-0.5, 0.5, count) * depth, random.uniform(-0.4, 0.4, count) * depth, depth])


def test_codes_of_similar_descriptors_differ_in_few_bits() -> None:
    random = np.random.default_rng(3)
    descriptors = random.integers(0, 120, (50, 128)).astype(np.float32)
    like = np.clip(descriptors + random.normal(0, 8, descriptors.shape), 0, 255).astype(np.float32)
    distances = np.unpackbits(codes_of(descriptors) ^ codes_of(like), axis=1).sum(axis=1)
    others = np.unpackbits(codes_of(descriptors) ^ codes_of(like[::-1]), axis=1).sum(axis=1)
    assert distances.max() < 60 < 90 < others.mean()
    np.testing.assert_array_equal(codes_of(np.zeros((1, 128), np.float32)), np.zeros((1, 32), np.uint8))


def test_code_words_are_their_bits() -> None:
    code = np.arange(32, dtype=np.uint8)[None]
    assert code_words(code)[:, 0].tolist() == [
        4 * word + 256 * (4 * word + 1) + 65536 * (4 * word + 2) for word in range(8)
    ]


def test_similar_place_has_highest_score() -> None:
    views = {number: bare(random_codes(200, number)) for number in range(40)}
    index = PlaceIndex.of(list(views.items()))
    for number in (0, 17, 39):
        scores = index.scores(bare(flip_bits(views[number].codes, 0.12, 99)), 40)
        assert max(scores, key=scores.__getitem__) == number
        assert scores[number] > 5 * max((score for other, score in scores.items() if other != number), default=1.0)
    assert PlaceIndex().scores(views[0], 1) == {} and index.scores(bare(random_codes(0, 1)), 40) == {}


def test_incremental_index_equals_batch_index_and_removes() -> None:
    views = {number: bare(random_codes(30, number)) for number in (5, 2, 9)}
    grown = PlaceIndex()
    for number, view in views.items():
        grown.add(number, view)
    np.testing.assert_array_equal(grown.rows, PlaceIndex.of(list(views.items())).rows)
    grown.remove(2)
    np.testing.assert_array_equal(grown.rows, PlaceIndex.of([(5, views[5]), (9, views[9])]).rows)
    assert 2 not in grown.scores(views[2], 3)


def test_words_common_to_many_keyframes_carry_no_weight() -> None:
    common = random_codes(50, 1)
    views = [(number, bare(np.concatenate([common, random_codes(5, 10 + number)]))) for number in range(20)]
    scores = PlaceIndex.of(views).scores(bare(np.concatenate([common, random_codes(5, 13)])), 20)
    assert list(scores) == [3]


def test_view_is_localised_among_outliers() -> None:
    points, codes = scene(), random_codes(150, 1)
    first = view_from(np.eye(4), points, codes, seed=1)
    shuffled = np.random.default_rng(2).permutation(150)
    second = view_from(POSE, points, flip_bits(codes, 0.1, 3), seed=2)
    mixed = second.codes.copy()
    mixed[:40] = second.codes[40:80][::-1]
    second = View(pixels=second.pixels[shuffled], points=second.points[shuffled], codes=mixed[shuffled])
    candidate = sighting(first, second, CAMERA, SIZE, LIMITS)
    assert candidate is not None and candidate.points > 60 and candidate.cells >= 12
    difference = inverse_from_transform(POSE) @ candidate.pose
    errors = np.concatenate([difference[:3, 3], vector_from_rotation(difference[:3, :3])])
    assert np.abs(errors[:3]).max() < 0.01 and np.abs(errors[3:]).max() < 0.003
    assert errors @ np.linalg.solve(candidate.covariance, errors) < 30
    assert (np.linalg.eigvalsh(candidate.covariance) > 0).all()


@pytest.mark.parametrize(
    "change",
    [
        lambda view: bare(random_codes(150, 5)),  # nothing looks alike
        lambda view: replace(view, pixels=view.pixels[::-1].copy()),  # it does, but not where it should be
        lambda view: replace(view, points=view.points * 2),  # both pictures disagree on how far off it is
        lambda view: View(pixels=view.pixels[:19], points=view.points[:19], codes=view.codes[:19]),
    ],
)  # fmt: skip
def test_inconsistent_views_give_no_candidate(change: Callable[[View], View]) -> None:
    points, codes = scene(), random_codes(150, 1)
    first, second = view_from(np.eye(4), points, codes), view_from(POSE, points, codes)
    assert sighting(first, second, CAMERA, SIZE, LIMITS) is not None
    assert sighting(first, change(second), CAMERA, SIZE, LIMITS) is None


def test_points_in_one_image_corner_are_rejected() -> None:
    points, codes = scene(), random_codes(150, 1)
    points[:, :2] = points[:, :2] * 0.15 + 0.2 * points[:, 2:]
    assert (
        sighting(view_from(np.eye(4), points, codes), view_from(np.eye(4), points, codes), CAMERA, SIZE, LIMITS) is None
    )
