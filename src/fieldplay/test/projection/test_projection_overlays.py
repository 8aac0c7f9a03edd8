"""What is seen in a picture with points: the nearest on top, colours by range, and a bar that says which."""

import cv2
import numpy as np
import pytest

from fieldplay.geometry.camera_model import Projection
from fieldplay.projection.overlays import (
    ColourScale,
    colours_from_fractions,
    overlay,
    scale_of_ranges,
    size_of_points,
    ticks_of_scale,
    with_legend,
    with_points,
)

GREY = np.full((100, 160, 3), 100, np.uint8)
RED, BLUE = (0, 0, 255), (255, 0, 0)


def draw(pixels: list[list[float]], depths: list[float], colours: list[tuple[int, int, int]]) -> np.ndarray:
    return with_points(
        GREY, np.array(pixels, float), np.array(depths), colours=np.array(colours, np.uint8), size_px=9.0
    )


def test_nearest_point_is_drawn_on_top_in_any_order() -> None:
    for pixels, depths, colours in (
        ([[50, 40], [52, 40]], [9.0, 3.0], [BLUE, RED]),
        ([[52, 40], [50, 40]], [3.0, 9.0], [RED, BLUE]),
    ):
        image = draw(pixels, depths, colours)
        assert image[40, 50].tolist() == list(RED)
        assert image[40, 46].tolist() == list(BLUE)


def test_point_is_disc_with_dark_rim_and_rest_is_unchanged() -> None:
    image = draw([[50, 40]], [1.0], [RED])
    red = (image == RED).all(axis=2)
    assert red.sum() == pytest.approx(np.pi * 4.5**2, rel=0.3)
    rows, columns = np.nonzero((image != 100).any(axis=2))
    assert (rows.min(), rows.max(), columns.min(), columns.max()) == (35, 45, 45, 55)
    assert image[40, 45].max() < 100
    np.testing.assert_array_equal(GREY, 100)


def test_points_at_edge_and_outside_of_image_are_clipped() -> None:
    image = draw([[0, 0], [159, 99], [300, 40], [50, -400]], [1.0, 2.0, 3.0, 4.0], [RED] * 4)
    assert (image[0, 0].tolist(), image[99, 159].tolist()) == (list(RED), list(RED))
    assert (image != 100).any(axis=2).sum() < 90


def test_no_points_leave_image_unchanged() -> None:
    none = with_points(GREY, np.zeros((0, 2)), np.zeros(0), colours=np.zeros((0, 3), np.uint8), size_px=5)
    np.testing.assert_array_equal(none, GREY)


def test_colours_are_perceptually_uniform_from_near_to_far() -> None:
    colours = colours_from_fractions(np.linspace(0, 1, 33))
    lightness = cv2.cvtColor(colours[:, None].astype(np.float32) / 255, cv2.COLOR_BGR2LAB)[:, 0, 0]
    steps = np.diff(lightness)
    assert (steps < 0).all()
    assert lightness[0] - lightness[-1] > 75
    assert steps.min() > 2.5 * steps.mean()


def test_ranges_beyond_scale_are_clamped() -> None:
    scale = ColourScale(2.0, 10.0)
    np.testing.assert_allclose(scale.fractions(np.array([1.0, 2.0, 6.0, 10.0, 80.0])), [0, 0, 0.5, 1, 1])


def test_a_wide_scale_follows_the_logarithm() -> None:
    np.testing.assert_allclose(ColourScale(1.0, 100.0).fractions(np.array([1.0, 10.0, 100.0])), [0, 0.5, 1])
    np.testing.assert_allclose(ColourScale(0.0, 100.0).fractions(np.array([25.0])), [0.25])  # which 0 m cannot


@pytest.mark.parametrize("stops", [(5.0, 5.0), (9.0, 3.0), (-1.0, 3.0), (0.0, np.inf), (np.nan, 1.0)])
def test_invalid_scale_is_rejected(stops: tuple[float, float]) -> None:
    with pytest.raises(ValueError, match="expected ranges from 0 on, the second larger"):
        ColourScale(*stops)


def test_default_scale_fits_most_ranges() -> None:
    scale = scale_of_ranges(np.append(np.linspace(4, 8, 1000), [0.1, 900.0]))
    assert 3.9 < scale.low_m < 4.2 and 7.8 < scale.high_m < 8.1
    assert scale_of_ranges(np.full(5, 3.0)) == ColourScale(2.5, 3.5)
    assert scale_of_ranges(np.zeros(0)).high_m > 0


@pytest.mark.parametrize(
    ("scale", "ticks"),
    [
        (ColourScale(0, 10), [0, 2, 4, 6, 8, 10]),
        (ColourScale(3.3, 9.7), [4, 5, 6, 7, 8, 9]),
        (ColourScale(10.6, 11.25), [10.6, 10.7, 10.8, 10.9, 11.0, 11.1, 11.2]),
        (ColourScale(1.5, 80), [2, 5, 10, 20, 50]),
        (ColourScale(0.01, 1000), [0.01, 0.1, 1, 10, 100, 1000]),
    ],
)
def test_ticks_are_round_and_few(scale: ColourScale, ticks: list[float]) -> None:
    assert ticks_of_scale(scale) == pytest.approx(ticks)


def test_legend_shows_all_colours_in_small_part_of_image() -> None:
    image = np.full((540, 960, 3), 100, np.uint8)
    with_bar = with_legend(image, ColourScale(1, 5), "lidar in main_cam")
    changed = (with_bar != 100).any(axis=2)
    assert changed[:, : 960 // 2].sum() > 500  # the words
    assert changed.mean() < 0.15
    requested = colours_from_fractions(np.linspace(0, 1, 9)).astype(int)
    pixels = with_bar[changed].astype(int)
    assert all((np.abs(pixels - colour).max(axis=1) <= 2).any() for colour in requested)
    assert (with_bar >= 230).all(axis=2).sum() > 50  # the metres; older releases of OpenCV draw no full white


@pytest.mark.parametrize("shape", [(1, 1), (20, 30), (480, 64), (64, 2000), (2160, 3840)])
def test_images_of_any_shape_have_a_legend(shape: tuple[int, int]) -> None:
    image = np.zeros((*shape, 3), np.uint8)
    assert with_legend(image, ColourScale(1, 50), "a caption that is rather long for small pictures").shape == (
        *shape,
        3,
    )


def test_overlay_draws_visible_points_in_colours_of_ranges() -> None:
    pixels = np.array([[20.0, 20.0], [60.0, 50.0], [40.0, 80.0]])
    projection = Projection(pixels, np.array([1.0, 2.0, 3.0]), np.array([True, True, False]))
    ranges_m, scale = np.array([2.0, 10.0, 5.0]), ColourScale(2.0, 10.0)
    image = overlay(GREY, projection, ranges_m, scale=scale, size_px=6.0)
    near, far = colours_from_fractions(np.array([0.0, 1.0]))
    assert (image[20, 20].tolist(), image[50, 60].tolist()) == (near.tolist(), far.tolist())
    assert image[80, 40].tolist() == [100] * 3


def test_few_points_are_larger_than_many() -> None:
    assert size_of_points(1360, 180) > size_of_points(1360, 30_000) >= 2
    assert size_of_points(1920, 500) == pytest.approx(2 * size_of_points(960, 500))
