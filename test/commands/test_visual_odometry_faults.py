"""Visual odometry where pictures are bad: it says that it does not know, and goes on without a jump."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import cv2
import numpy as np
import pytest

from fieldplay.geometry.transforms import inverse_from_transform
from fieldplay_cdff.pipeline import load_pipeline
from fieldplay_cdff.steps.values import Array, PoseEstimate
from support.room import (
    BASELINE_M,
    Picture,
    Room,
    cameras,
    frames,
    looking,
)

PERIOD_NS, STEP_M = 250_000_000, 0.08
PORTS = ("leftImage", "rightImage")
BAD = range(8, 16)  # pairs: two seconds
Change = Callable[[int, Picture], Picture | None]


class Answer(NamedTuple):
    """What it said of a pair, how far off its pose was and how far it may be, m; NaN where it gave none."""

    success: bool
    off_m: float
    known_m: float


@pytest.fixture(scope="module")
def room() -> Room:
    return Room()


def noisy(image: Array | Picture, std: float, seed: int) -> Picture:
    noise = np.random.default_rng(seed).normal(0, std, image.shape)
    return np.clip(image + noise, 0, 255).astype(np.uint8)


def driven(
    room: Room, poses: Sequence[Array], left: Change | None = None, right: Change | None = None
) -> dict[int, Answer]:
    """What comes of pairs from these poses by their number, some pictures changed, or lost where they become None."""
    pipeline = load_pipeline("VisualOdometry", cameras=cameras(), baseline_m=BASELINE_M)
    answers = {}
    for number, pose in enumerate(poses):
        parameters: dict[str, object] = {}
        stamp_ns = (1 + number) * PERIOD_NS
        for port, frame, change in zip(PORTS, frames(room.pair(pose), stamp_ns), (left, right), strict=True):
            image = frame.image if change is None else change(number, frame.image)
            if image is not None:
                changed, _ = frames((image, image), stamp_ns)
                parameters |= {each.port: each.value for each in pipeline.feed(port, changed, stamp_ns)}
        if parameters:
            true = inverse_from_transform(poses[0]) @ pose
            value = parameters.get("pose")
            off_m = known_m = np.nan
            if isinstance(value, PoseEstimate):
                off_m = float(np.linalg.norm(value.pose[:3, 3] - true[:3, 3]))
                known_m = float(np.sqrt(np.trace(value.covariance[:3, :3])))
            answers[number] = Answer(bool(parameters["success"]), off_m, known_m)
    assert not pipeline.failures
    return answers


def ahead(count: int) -> list[Array]:
    return [looking(1 + STEP_M * number) for number in range(count)]


def known(answers: dict[int, Answer]) -> list[int]:
    assert all(answer.success == np.isfinite(answer.off_m) for answer in answers.values()), "no pose without success"
    return [number for number, answer in answers.items() if answer.success]


def covered(number: int, image: Picture) -> Picture:
    return noisy(np.full(image.shape, 12.0), 2, number) if number in BAD else image


def blurred(number: int, image: Picture) -> Picture:
    return np.asarray(cv2.blur(image, (25, 25)), np.uint8) if number in BAD[:2] else image


def blank(number: int, image: Picture) -> Picture:
    return noisy(np.full(image.shape, 128.0), 3, number) if number in BAD else image


def dark(number: int, image: Picture) -> Picture:
    return noisy(0.02 * image, 1.5, number) if number in BAD else image


@pytest.mark.parametrize(
    ("left", "right", "bad"),
    [
        (covered, None, BAD),
        (covered, covered, BAD),
        (blank, blank, BAD),
        (dark, dark, BAD),
        (blurred, blurred, BAD[:2]),
    ],
)
def test_while_nothing_can_be_seen_it_knows_no_pose_and_then_goes_on_where_it_is(
    room: Room, left: Change, right: Change | None, bad: range
) -> None:
    """A steady drive goes on as before meanwhile, and it is off by less than one of the steps that it did not see."""
    answers = driven(room, ahead(21), left, right)
    unknown = [number for number in answers if number not in known(answers)]
    assert set(bad[2:]) <= set(unknown) <= {*bad, bad[-1] + 1}, "two may still be seen at first, one more may be lost"
    before, after = ([answers[number].off_m for number in known(answers) if (number <= bad[-1]) == is_before] for
                     is_before in (True, False))  # fmt: skip
    assert max(before) < 0.01 and max(after) < 0.5 * STEP_M
    assert all(answers[number].off_m < 3 * answers[number].known_m for number in known(answers)[1:])


def test_what_it_went_on_by_guess_is_in_covariance(room: Room) -> None:
    """With the lens covered it is turned and driven elsewhere, so that nothing of before is seen afterwards."""
    poses = ahead(8) + [looking(1.6 + 0.1 * number, 3 + 0.2 * number, 0.12 * number) for number in range(13)]
    answers = driven(room, poses, covered, covered)
    before, after = (
        [number for number in known(answers) if (number < BAD[0]) == is_before] for is_before in (True, False)
    )
    assert len(before) == 8 and len(after) >= 3 and min(after) >= BAD[-1]
    assert max(answers[number].known_m for number in before) < 0.02
    assert all(0.5 < answers[number].off_m < 3 * answers[number].known_m for number in after)


def test_on_plain_drive_it_is_off_by_less_than_hundredth_of_distance(room: Room) -> None:
    answers = driven(room, ahead(20))
    assert len(known(answers)) == 20 and answers[19].off_m < 0.01 * 19 * STEP_M


def test_exposure_that_changes_is_no_motion(room: Room) -> None:
    def changed(number: int, image: Picture) -> Picture:
        return noisy(image * (0.4 if number % 4 == 2 else 1.0), 1, number)

    answers = driven(room, ahead(12), changed, changed)
    assert len(known(answers)) == 12 and max(answer.off_m for answer in answers.values()) < 0.01


def test_every_third_image_may_be_lost(room: Room) -> None:
    answers = driven(room, ahead(16), right=lambda number, image: None if number % 3 == 2 else image)
    assert known(answers) == [number for number in range(16) if number % 3 != 2]
    assert answers[15].off_m < 0.01 * 15 * STEP_M


def test_camera_that_stands_for_minute_stays_where_it_is(room: Room) -> None:
    left, right = room.pair(looking(3))
    pipeline = load_pipeline("VisualOdometry", cameras=cameras(), baseline_m=BASELINE_M)
    results = []
    for number in range(60):
        images = noisy(left, 3, 2 * number), noisy(right, 3, 2 * number + 1)
        for port, frame in zip(PORTS, frames(images, number * 4 * PERIOD_NS), strict=True):
            results += [each.value for each in pipeline.feed(port, frame, frame.stamp_ns) if each.port == "pose"]
    poses, deviations = (
        [each.pose for each in results],
        [np.sqrt(np.trace(each.covariance[:3, :3])) for each in results],
    )
    assert len(poses) == 60 and (np.diff(deviations) > -1e-12).all() and deviations[-1] < 0.02
    assert np.linalg.norm([pose[:3, 3] for pose in poses], axis=1).max() < 0.001


def test_turned_on_spot_it_does_not_leave_it(room: Room) -> None:
    turns = [looking(3, 3, np.radians(8) * number) for number in range(23)]
    answers = driven(room, turns)
    assert len(known(answers)) >= 22 and max(answers[number].off_m for number in known(answers)) < 0.05


def test_pair_out_of_order_is_not_believed(room: Room) -> None:
    """An old pair once more, under a stamp that goes on: seven steps back, and forth with the next."""
    poses = ahead(16)
    poses[12] = poses[5]
    answers = driven(room, poses)
    assert known(answers) == [number for number in range(16) if number != 12]
    assert answers[15].off_m < 0.01 * 15 * STEP_M


def test_pair_that_cannot_be_used_gives_success_false_and_quality_0_once(room: Room) -> None:
    pipeline = load_pipeline("VisualOdometry", cameras=cameras(), baseline_m=BASELINE_M)
    for number in range(3):
        stamp_ns = (1 + number) * PERIOD_NS
        for port, frame in zip(PORTS, frames(room.pair(looking(1.6, 3 + 0.08 * number, 0.0)), stamp_ns), strict=True):
            pipeline.feed(port, frame, stamp_ns)
    nothing = [("success", False, 4 * PERIOD_NS), ("quality", 0.0, 4 * PERIOD_NS)]
    assert pipeline.refuse("leftImage", 4 * PERIOD_NS, "dark") == nothing
    (_, right) = frames(room.pair(looking(1.6, 3.3, 0.0)), 4 * PERIOD_NS)
    assert pipeline.feed("rightImage", right, right.stamp_ns) == []
    (_, right) = frames(room.pair(looking(1.6, 3.4, 0.0)), 5 * PERIOD_NS)
    pipeline.feed("rightImage", right, right.stamp_ns)
    assert pipeline.finish() == [(port, value, 5 * PERIOD_NS) for port, value, _ in nothing]
    assert pipeline.statistics.refused == {"dark": 1, "unpaired": 1}
    assert (pipeline.statistics.input_sets, pipeline.statistics.accepted) == (5, 3)
