"""What computations share: settings, rows that belong together, states, and going on in time."""

from typing import Any

import numpy as np
import pytest

from fieldplay.kinematics.computation import (
    JUMPED_BACK,
    Computation,
    ExactTimeSync,
    FrameNames,
    LatchedValue,
    Output,
    OutputRecords,
    Setting,
)
from fieldplay.messages.records import (
    Clouds,
    Code,
    Diagnostics,
    Joints,
    Record,
    Scalars,
    State,
    Values,
    concatenate,
)


def joints(*stamps: int) -> Joints:
    """One joint that stands at its time."""
    stamp_ns = np.array(stamps, np.int64)
    return Joints(stamp_ns=stamp_ns, names=("a",), position=stamp_ns[:, None].astype(float))


def stamps_of(pairs: list[tuple[Any, Any]]) -> list[tuple[list[int], list[int]]]:
    return [(one.stamp_ns.tolist(), other.stamp_ns.tolist()) for one, other in pairs]


@pytest.mark.parametrize("side", [0, 1])
def test_rows_of_same_time_are_paired_in_any_order(side: int) -> None:
    pairs = ExactTimeSync()
    assert pairs.add(side, joints(1, 2, 3)) == []
    ((one, other),) = pairs.add(1 - side, joints(2, 3, 4))
    assert (one.stamp_ns.tolist(), other.position[:, 0].tolist()) == ([2, 3], [2.0, 3.0])
    assert stamps_of(pairs.add(side, joints(3, 4))) == [([4], [4])]


def test_row_completes_pairs_with_all_waiting_rows_in_order() -> None:
    pairs = ExactTimeSync()
    for stamp in (1, 2, 3):
        assert pairs.add(0, joints(stamp)) == []
    assert stamps_of(pairs.add(1, joints(1, 3))) == [([1], [1]), ([3], [3])]
    assert stamps_of(pairs.add(1, joints(2))) == [([2], [2])]


def test_unpaired_row_is_not_paired_in_the_next_loop() -> None:
    pairs, met = ExactTimeSync(), []
    received = [(0, 1), (0, 2), (0, 3), (1, 3), (0, 8), (0, 9), (0, 1), (1, 8), (1, 9), (1, 1), (1, 2), (0, 2)]
    for side, stamp in received:  # the first heard of the second is 3
        met += [one.stamp_ns[0] for one, _ in pairs.add(side, joints(stamp))]
    assert met == [3, 8, 9, 1, 2]


def test_waiting_rows_are_limited_and_forgotten_on_reset() -> None:
    pairs = ExactTimeSync()
    for stamp in range(600):
        pairs.add(0, joints(stamp))
    assert pairs.add(1, joints(99)) == [] and stamps_of(pairs.add(1, joints(100))) == [([100], [100])]
    pairs.add(0, joints(*range(1000, 3000)))
    assert len(pairs.add(1, joints(1000))) == 1
    pairs.forget()
    assert pairs.add(1, joints(2000)) == []


def test_state_is_valid_for_later_rows() -> None:
    states = LatchedValue()
    states.update(Code(stamp_ns=np.array([10, 20]), code=np.array([1, 2], np.uint8)))
    states.update(Code(stamp_ns=np.array([0]), order_ns=np.array([15]), code=np.array([7], np.uint8)))
    indices = states.indices_at(np.array([9, 10, 14, 15, 20, 99]))
    assert indices.tolist() == [-1, 0, 0, 1, 2, 2]
    assert [states.values[index] for index in indices[1:]] == [1, 1, 7, 2, 2]
    with pytest.raises(TypeError, match="expected a state, got Scalars"):
        states.update(Scalars(stamp_ns=np.array([1]), values=np.array([1.0])))


def test_lists_of_different_lengths_may_be_states() -> None:
    states = LatchedValue()
    for count in (2, 3):
        states.update(Values(stamp_ns=np.array([count]), values=np.ones((1, count))))
    assert [len(value) for value in states.values] == [2, 3]


class Sum(Computation):
    """Adds up."""

    name = "sum"
    each = "parts"
    settings = (
        Setting("frame_prefix", "", ""),
        Setting("parts", ["left"], ""),
        Setting("frame", "{frame_prefix}base", ""),
        Setting("child_frames", ["tip"], ""),
    )
    outputs = (Output(topic="sum", type="std_msgs/msg/Float64"),)
    total = 0.0

    def step(self, name: str, record: Record) -> OutputRecords:
        assert isinstance(record, Scalars)
        self.follow(record.stamp_ns)
        values = self.total + np.cumsum(record.values)
        self.total = float(values[-1])
        yield self.outputs[0], Scalars(stamp_ns=record.stamp_ns, values=values)

    def reset(self) -> None:
        super().reset()
        self.total = 0.0


def sum_of(computation: Computation, *stamps: int) -> float:
    ((_, record),) = computation.step("numbers", Scalars(stamp_ns=np.array(stamps), values=np.ones(len(stamps))))
    assert isinstance(record, Scalars)
    return float(record.values[-1])


def test_setting_may_refer_to_another_and_list_gives_several_computations() -> None:
    computations = Sum.create_all({"frame_prefix": "r/", "parts": ["left", "right"]})
    assert [one.setting_values["parts"] for one in computations] == [["left"], ["right"]]
    assert (computations[0].setting_values["frame"], computations[0].children) == ("r/base", ["r/tip"])


def test_state_is_reset_when_time_jumps_back_or_is_forgotten() -> None:
    computation, warnings = Sum({}), list[str]()
    computation.warn = warnings.append
    assert (sum_of(computation, 10, 20), sum_of(computation, 20, 30)) == (2.0, 4.0)
    computation.forget(30)
    assert sum_of(computation, 40) == 5.0 and warnings == []
    assert (sum_of(computation, 39), warnings) == (1.0, [JUMPED_BACK])
    computation.forget(38)
    assert (sum_of(computation, 50), len(warnings)) == (1.0, 1)


def test_output_may_be_in_the_frame_of_an_input() -> None:
    output = Output(topic="a", type="b", frame_of="scan")
    assert output.in_frame({"scan": FrameNames("laser")}).frame == "laser"
    assert Output(topic="a", type="b", frame="odom").in_frame({"scan": FrameNames("laser")}).frame == "odom"


def test_concatenated_records_keep_names_and_states() -> None:
    whole = concatenate([joints(1, 2), joints(3)])
    assert whole.names == ("a",) and whole.stamp_ns.tolist() == [1, 2, 3]
    diagnostics = [
        Diagnostics(stamp_ns=np.array([i]), states=((State("a", i, str(i)),),), state_index=np.zeros(1, np.int64))
        for i in (1, 2)
    ]
    assert [concatenate(diagnostics).states[index][0].message for index in concatenate(diagnostics).state_index] == [
        "1",
        "2",
    ]


def test_clouds_are_concatenated_and_selected_without_reading() -> None:
    def clouds(*rows: int) -> Clouds:
        def load(row: int) -> np.ndarray[Any, np.dtype[np.void]]:
            return np.array([(float(rows[row]),)], [("x", "<f4")])

        return Clouds(stamp_ns=np.array(rows), names=tuple(map(str, rows)), load=load)

    whole = concatenate([clouds(1, 2), clouds(3)])
    chosen = whole.only(whole.stamp_ns > 1)
    assert (whole.names, chosen.names) == (("1", "2", "3"), ("2", "3"))
    assert [float(chosen.load(row)["x"][0]) for row in (0, 1)] == [2.0, 3.0]
