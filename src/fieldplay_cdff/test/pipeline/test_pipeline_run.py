"""Chains of steps as they run: what comes out, in which order, and what becomes of failures."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fieldplay.core.errors import UsageError
from fieldplay_cdff.pipeline import Pipeline, PipelineStopped, load_pipeline
from fieldplay_cdff.steps.values import Array, Cloud

TWO = Path(__file__).with_name("two.yaml").read_text()
CHAIN = """\
name: Way
doc: a way of steps
input_ports:
  - {name: step, type: asn1SccPose, doc: from the last to the new}
output_ports:
  - {name: pose, type: asn1SccPose, doc: in the first}
  - {name: success, type: bool, doc: whether it is known}
implementations:
  - name: Plain
    dfns:
      - {dfn_id: way, name: PoseTrack, parameters: {MaximumShift: 1.0}}
    input_connections:
      - {dfpc_input: step, dfn_id: way, port: trigger}
      - {dfpc_input: step, dfn_id: way, port: basis}
      - {dfpc_input: step, dfn_id: way, port: step}
    output_connections:
      - {dfpc_output: pose, dfn_id: way, port: pose}
      - {dfpc_output: success, dfn_id: way, port: success}
"""


def write_chain(folder: Path, text: str) -> Path:
    file = folder / "Two.yaml"
    file.write_text(text)
    return file


def cloud(*points: tuple[float, float, float]) -> Cloud:
    return Cloud(points=np.array(points, float).reshape(-1, 3))


def shift(x: float) -> Array:
    pose = np.eye(4)
    pose[0, 3] = x
    return pose


def feed_cloud(pipeline: Pipeline, stamp_ns: int, x: float, *, after_ns: int = 0) -> list[tuple[str, list[Any], int]]:
    """What comes out of a cloud of one point, in words."""
    outputs = pipeline.feed("cloud", cloud((x, 0, 0)), stamp_ns) + pipeline.feed("pose", np.eye(4), stamp_ns + after_ns)
    return [(each.port, each.value.points.tolist(), each.stamp_ns) for each in outputs]


def test_chain_outputs_have_stamp_of_inputs(tmp_path: Path) -> None:
    pipeline = load_pipeline(write_chain(tmp_path, TWO))
    assert (pipeline.name, pipeline.topic, pipeline.implementation) == ("Two", "two", "Plain")
    assert pipeline.inputs == {"cloud": "Pointcloud", "pose": "Pose"}
    assert feed_cloud(pipeline, 1, 0.1) == [("moved", [[0.1, 0, 0]], 1)]
    assert feed_cloud(pipeline, 2, 0.9) == [("moved", [[0.1, 0, 0], [0.9, 0, 0]], 2)], (
        "what was before is merged once more"
    )
    pipeline.reset()
    assert feed_cloud(pipeline, 1, 0.3) == [("moved", [[0.3, 0, 0]], 1)]
    steps = pipeline.statistics.steps
    assert (steps["map"].calls, steps["map"].bytes["assembledCloud"]) == (3, 4 * (24 + 8) + 3 * 8)
    assert pipeline.statistics.as_dict()["given"] == {"cloud": 3, "pose": 3}
    head, *rows, age = pipeline.statistics.table()
    assert head.split()[:3] == ["step", "calls", "failures"] and head.split("CPU")[1].split() == [
        "mean", "p50", "p95", "max", "MB", "out",
    ]  # fmt: skip
    assert [row.split()[:3] for row in rows] == [["move", "3", "0"], ["last", "3", "0"], ["map", "3", "0"]]
    assert age.startswith("output moved: 3 times, age mean 0.")


def test_inputs_are_paired_by_nearest_stamps_and_rest_is_dropped(tmp_path: Path) -> None:
    pipeline = load_pipeline(write_chain(tmp_path, TWO))
    pipeline.statistics.drop("cloud", 2)  # as a queue before it does
    for stamp in (100, 200, 300):
        feed_cloud(pipeline, stamp, 0.1, after_ns=7)
    assert pipeline.feed("cloud", cloud((0, 0, 0)), 400) == []
    assert [each.stamp_ns for each in pipeline.feed("pose", np.eye(4), 493)] == [], "nearer to that of 500"
    assert [each.stamp_ns for each in pipeline.feed("cloud", cloud((0, 0, 0)), 500)] == []
    assert [each.stamp_ns for each in pipeline.finish()] == [500]
    counts = pipeline.statistics
    assert (counts.waves, counts.unequal, counts.dropped) == (4, 4, {"cloud": 3})


def test_invalid_stamps_are_skipped_and_reported_until_new_time_continues(tmp_path: Path) -> None:
    pipeline = load_pipeline(write_chain(tmp_path, TWO))
    hour = 3600 * 10**9
    for stamp in (10, 20):
        assert len(feed_cloud(pipeline, stamp, 0.1)) == 1
    assert feed_cloud(pipeline, 20, 0.1) == []
    assert feed_cloud(pipeline, 15, 0.1) == []
    assert feed_cloud(pipeline, 20 + 2 * hour, 0.1) == []
    assert len(feed_cloud(pipeline, 30, 0.1)) == 1, "after a single leap all is as before"
    assert [str(each) for each in pipeline.failures][:2] == [
        "cloud: stamp 20 repeats (cloud 20)",
        "pose: stamp 20 repeats (pose 20)",
    ]
    assert "goes back by 0.000 s" in pipeline.failures[2].message
    assert "jumps by 7200.000 s" in pipeline.failures[4].message
    assert feed_cloud(pipeline, 40 + 5 * hour, 0.1) == []
    assert len(feed_cloud(pipeline, 50 + 5 * hour, 0.1)) == 1
    assert pipeline.statistics.skipped == {"cloud": 4, "pose": 4}


def test_failing_step_is_reported_with_its_stamps_and_others_continue(tmp_path: Path) -> None:
    bad = Cloud(points=np.zeros((2, 2)))
    pipeline = load_pipeline(write_chain(tmp_path, TWO))
    pipeline.feed("cloud", bad, 5)
    assert pipeline.feed("pose", np.eye(4), 5) == []
    (failure,) = pipeline.failures
    assert (failure.step, failure.stamps, failure.in_a_row) == ("move", {"cloud": 5, "pose": 5}, 1)
    assert len(feed_cloud(pipeline, 6, 0.1)) == 1
    assert (pipeline.statistics.steps["move"].failures, pipeline.statistics.steps["map"].calls) == (1, 1)


def test_repeated_failures_are_reported_or_stop_run(tmp_path: Path) -> None:
    bad = Cloud(points=np.zeros((2, 2)))
    for most, stop_after in ((10, 0), (2, 2)):
        pipeline = load_pipeline(write_chain(tmp_path, TWO), stop_after=stop_after)
        for stamp in range(1, most):
            pipeline.feed("cloud", bad, stamp)
            pipeline.feed("pose", np.eye(4), stamp)
        assert pipeline.failing == []
        pipeline.feed("cloud", bad, most)
        if stop_after:
            with pytest.raises(PipelineStopped, match=r"Two: move failed 2 times in a row, at last: .*, at 2"):
                pipeline.feed("pose", np.eye(4), most)
        else:
            pipeline.feed("pose", np.eye(4), most)
            assert pipeline.failing == ["move"]
            assert pipeline.statistics.steps["move"].most_in_a_row == 10
            feed_cloud(pipeline, most + 1, 0.1)
            assert (pipeline.failing, pipeline.statistics.steps["move"].most_in_a_row) == ([], 10)


def test_failing_pair_has_no_pose_and_success_is_false(tmp_path: Path) -> None:
    pipeline = load_pipeline(write_chain(tmp_path, CHAIN))
    outputs = [pipeline.feed("step", shift(x), stamp) for stamp, x in enumerate([5.0, 0.5, 3.0, 1.5, np.nan, 0.25])]
    assert [
        [(each.port, each.value if each.port == "success" else each.value[0, 3]) for each in own] for own in outputs
    ] == [
        [("pose", 0.0), ("success", True)],
        [("pose", 0.5), ("success", True)],
        [("success", False)],
        [("pose", 2.0), ("success", True)],  # twice as long, as a pair is missing between
        [("success", False)],
        [("pose", 2.25), ("success", True)],
    ]
    assert pipeline.statistics.accepted == 4


def test_ports_and_periods_trigger_on_time_of_data(tmp_path: Path) -> None:
    text = TWO.replace("type: asn1SccPose, doc: where it is}", "type: asn1SccPose, doc: where it is, policy: each}")
    text = text.replace("doc: a cloud}", "doc: a cloud, policy: each}")
    step = "implementation: CartesianSystemTransform"
    on_port = text.replace(step, f"{step}, activation: {{type: input_triggered, value: pointCloud}}")
    pipeline = load_pipeline(write_chain(tmp_path, on_port))
    assert pipeline.feed("cloud", cloud((1, 0, 0)), 1) == [], "there is no pose yet"
    assert pipeline.feed("pose", shift(1), 2) == []
    (output,) = pipeline.feed("cloud", cloud((1, 0, 0)), 3)
    assert (output.stamp_ns, output.value.points[0, 0]) == (3, 2)
    timed = text.replace(step, f"{step}, activation: {{type: frequency, value: 2}}")
    pipeline = load_pipeline(write_chain(tmp_path, timed))
    tenth = 10**8
    stamps = []
    for index in range(14):
        stamps += [each.stamp_ns for each in pipeline.feed("cloud", cloud((index, 0, 0)), 2 * index * tenth)]
        stamps += [each.stamp_ns for each in pipeline.feed("pose", shift(1), 2 * index * tenth + 1)]
    assert stamps == [5 * tenth, 10 * tenth, 15 * tenth, 20 * tenth, 25 * tenth]


def test_held_input_stays_and_triggers_nothing(tmp_path: Path) -> None:
    text = TWO.replace("doc: where it is}", "doc: where it is, policy: hold}")
    pipeline = load_pipeline(write_chain(tmp_path, text))
    assert pipeline.feed("pose", shift(2), 0) == []
    assert [each.value.points[0, 0] for each in pipeline.feed("cloud", cloud((1, 0, 0)), 1)] == [3]
    assert [each.stamp_ns for each in pipeline.feed("cloud", cloud((1.1, 0, 0)), 2)] == [2]


def test_unknown_port_is_reported_with_nearest_name(tmp_path: Path) -> None:
    pipeline = load_pipeline(write_chain(tmp_path, TWO))
    with pytest.raises(UsageError, match="Two has no input clout: did you mean cloud"):
        pipeline.feed("clout", None, 0)


def test_step_is_reset_on_time_jump_if_declared(tmp_path: Path) -> None:
    forgets = ", state: {reset: jump}}"
    text = TWO.replace("name: Previous}", f"name: Previous{forgets}").replace("0.5}}", f"0.5}}{forgets}")
    hour = 3600 * 10**9
    for own, points in ((TWO, 2), (text, 1)):
        pipeline = load_pipeline(write_chain(tmp_path, own))
        feed_cloud(pipeline, 1, 0.1)
        feed_cloud(pipeline, 5 * hour, 0.9)
        ((_, output, stamp_ns),) = feed_cloud(pipeline, 5 * hour + 1, 0.9)
        assert (len(output), stamp_ns) == (points, 5 * hour + 1)
