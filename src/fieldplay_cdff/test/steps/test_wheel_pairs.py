"""A rover of known wheels is found among circles: which way it heads, where its middle is, when it is none."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from fieldplay.core.errors import UsageError
from fieldplay.geometry.camera_model import camera_from_numbers
from fieldplay.geometry.transforms import rotation_from_vector
from fieldplay_cdff.steps.step import Step, step_of
from fieldplay_cdff.steps.values import Array, Frame, State

FOCAL, SIZE, AWAY_M, LOWER_M = 200.0, (240, 320), 2.0, 0.3
CAMERA = camera_from_numbers([FOCAL, 0, 160, 0, FOCAL, 120, 0, 0, 1], [0] * 5, "plumb_bob", width=320, height=240)
MODEL = {"WheelBase": 0.8, "WheelRadius": 0.22, "Width": 0.6}
SECOND = 1_000_000_000
ALL = np.full(SIZE, 255, np.uint8)


def tracker(**search: Any) -> Step:
    return step_of("WheelLocalisation", "WheelPairs")({"Model": MODEL, "Search": search})


def depths(slope: float = 0.0) -> NDArray[np.float32]:
    """Of a wall through (0, 0, AWAY_M) that goes back to the right."""
    ray = (np.arange(SIZE[1]) - 160) / FOCAL
    return np.asarray(np.tile(AWAY_M / (1 - slope * ray), (SIZE[0], 1)), np.float32)


def circles(middle_x: float, slope: float = 0.0, *, base: float = 0.8) -> list[Array]:
    """The two wheels of a rover whose side is on that wall, as circles."""
    rows = []
    for aside in (-base / 2, base / 2):
        x = middle_x + aside / np.hypot(1, slope)
        z = AWAY_M + slope * x
        rows.append(np.array([160 + FOCAL * x / z, 120 + FOCAL * LOWER_M / z, FOCAL * 0.2 / z]))
    return rows


def track(step: Step, number: int, primitives: list[Array], depth: Any = None, **more: Any) -> dict[str, Any]:
    stamp_ns = (number + 1) * SECOND // 2
    mask = Frame(image=more.pop("mask", ALL), stamp_ns=stamp_ns)
    image = Frame(image=depths() if depth is None else depth, encoding="32FC1", camera=CAMERA, stamp_ns=stamp_ns)
    outputs: dict[str, Any] = step.process(image=mask, depth=image, primitives=primitives, **more)
    return outputs


def is_lost(outputs: dict[str, Any]) -> bool:
    return not outputs["success"] and outputs["quality"] == 0 and "measurement" not in outputs


def pose_of(state: State) -> tuple[Array, Array]:
    return rotation_from_vector(state.values[:3]), state.values[3:6]


@pytest.mark.parametrize("forwards", [1.0, -1.0])
def test_pair_heads_to_its_motion_and_centre_lies_behind_its_side(forwards: float) -> None:
    step, slope = tracker(), 0.3
    assert is_lost(track(step, 0, circles(0.0, slope), depths(slope)))
    outputs = track(step, 1, [*circles(0.1 * forwards, slope), np.array([20.0, 20.0, 20.0])], depths(slope))
    assert outputs["success"] and outputs["quality"] > 0.99
    assert outputs["measurement"].stamp_ns == SECOND
    turn, position = pose_of(outputs["measurement"])
    along, out = (np.array(each) / np.hypot(1, slope) for each in ([1, 0, slope], [slope, 0, -1]))
    assert turn[:, 0] == pytest.approx(forwards * along, abs=0.01)
    assert turn[:, 2] == pytest.approx([0, -1, 0], abs=0.01)
    z = AWAY_M + slope * 0.1 * forwards
    assert position - out * -0.3 == pytest.approx([0.1 * forwards, LOWER_M, z], abs=0.03)


def test_pair_moves_backwards_where_expected_to() -> None:
    step = tracker()
    track(step, 0, circles(0.0))
    before = track(step, 1, circles(0.1))["measurement"]
    outputs = track(step, 2, circles(0.0), predictedState=before)
    turn, _ = pose_of(outputs["measurement"])
    assert turn[:, 0] == pytest.approx([1, 0, 0], abs=0.01)
    assert is_lost(track(step, 3, circles(-0.55), predictedState=before)), "it cannot be there so soon"
    assert is_lost(track(step, 20, circles(-0.55), predictedState=before)), "after a while it is another"
    turn, _ = pose_of(track(step, 21, circles(-0.65), predictedState=before)["measurement"])
    assert turn[:, 0] == pytest.approx([-1, 0, 0], abs=0.01)


def test_circles_that_do_not_match_wheels_are_rejected() -> None:
    steps = np.where(np.arange(SIZE[1]) < 160, np.float32(2.0), np.float32(2.4))
    covered = depths()
    covered[:, 160:] = np.nan
    cases: dict[str, tuple[list[Array], dict[str, Any]]] = {
        "nothing": ([], {}),
        "one wheel": (circles(0.1)[:1], {}),
        "another base": (circles(0.1, base=0.6), {}),
        "nothing moves": (circles(0.1), {"mask": np.zeros(SIZE, np.uint8)}),
        "no depths there": (circles(0.1), {"depth": covered}),
        "not in a plane": (circles(0.1), {"depth": np.tile(steps, (SIZE[0], 1))}),
        "too small": ([each * [1, 1, 0.3] for each in circles(0.1)], {}),
        "too steep": (
            [each + np.array([0, shift, 0]) for each, shift in zip(circles(0.1, base=0.5), (-60, 0), strict=True)],
            {},
        ),
    }
    for name, (parameters, more) in cases.items():
        step = tracker(SteepestSlope=20.0)
        track(step, 0, circles(0.0))
        assert is_lost(track(step, 1, parameters, **more)), name
        assert track(step, 2, circles(0.1))["success"], name


def test_initial_motion_across_wheels_gives_no_heading() -> None:
    step = tracker()
    track(step, 0, circles(0.0))
    lower = [each + np.array([0, 20, 0]) for each in circles(0.02)]
    assert is_lost(track(step, 1, lower))
    assert track(step, 2, [each + np.array([15, 0, 0]) for each in lower])["success"]
    step.reset()
    assert is_lost(track(step, 3, lower))


def test_disparities_are_taken_with_their_baseline() -> None:
    step = tracker()
    disparity = np.asarray(FOCAL * 0.1 / depths() * 16, np.float32)
    for number in range(2):
        frame = Frame(image=disparity, encoding="16SC1", camera=CAMERA, baseline_m=0.1, scale=16.0, stamp_ns=number)
        outputs = step.process(image=Frame(image=ALL, stamp_ns=number), depth=frame, primitives=circles(0.1 * number))
    assert outputs["measurement"].values[5] == pytest.approx(AWAY_M + MODEL["Width"] / 2, abs=1e-3)


def test_inconsistent_inputs_are_reported() -> None:
    with pytest.raises(ValueError, match=r"depth: expected depths \(240, 320\) as the image, got \(100, 320\)"):
        track(tracker(), 0, [], depths()[:100])
    with pytest.raises(UsageError, match=r"WheelPairs: Model.WheelBase: expected above 0, got 0"):
        step_of("WheelLocalisation", "WheelPairs")({"Model": {"WheelBase": 0.0}})
    with pytest.raises(UsageError, match=r"WheelPairs: Model has no parameter Wheelbase: did you mean WheelBase\?"):
        step_of("WheelLocalisation", "WheelPairs")({"Model": {"Wheelbase": 0.8}})
