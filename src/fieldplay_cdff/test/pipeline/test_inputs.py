"""What waits before a pipeline on live topics: whole sets, the oldest of which go."""

from fieldplay_cdff.pipeline.inputs import LiveQueue
from fieldplay_cdff.pipeline.pipeline_graph import EACH, HOLD, InputPort

PAIR = {"left": InputPort(type="Frame"), "right": InputPort(type="Frame")}
HOUR_NS = 3600 * 10**9


def take_all(queue: LiveQueue) -> list[dict[str, str]]:
    """All that waits, oldest first."""
    return [dict(each.values) for each in iter(lambda: queue.take(0.0), None) if not each.refused]


def put_pairs(queue: LiveQueue, stamps: range, *, right_is_late: int = 0) -> None:
    """Left and right of each stamp; the right ones come so many pairs later."""
    for index in range(len(stamps) + right_is_late):
        if index < len(stamps):
            queue.put("left", stamps[index], f"l{stamps[index]}")
        if index >= right_is_late:
            queue.put("right", stamps[index - right_is_late], f"r{stamps[index - right_is_late]}")


def test_slow_reader_gets_latest_complete_pairs_and_drops_are_counted() -> None:
    for late in (0, 1, 3):
        queue = LiveQueue(PAIR, 2)
        put_pairs(queue, range(10, 20), right_is_late=late)
        assert take_all(queue) == [{"left": "l18", "right": "r18"}, {"left": "l19", "right": "r19"}]
        assert (queue.received["left"], queue.dropped) == (10, {"left": 8, "right": 8})


def test_pair_taken_between_its_halves_is_not_split() -> None:
    queue = LiveQueue(PAIR, 1)
    taken_sets = []
    for stamp in range(1, 7):
        queue.put("left", stamp, stamp)
        taken_sets += take_all(queue)
        queue.put("right", stamp, stamp)
    taken_sets += take_all(queue)
    assert taken_sets == [{"left": stamp, "right": stamp} for stamp in range(1, 7)]


def test_unpaired_inputs_are_dropped_and_do_not_accumulate() -> None:
    queue = LiveQueue(PAIR, 2)
    for stamp in range(1000):
        queue.put("left", stamp, stamp)
    assert take_all(queue) == [] and 980 <= queue.dropped["left"] < 1000
    queue.put("right", 999, 999)
    assert take_all(queue) == [{"left": 999, "right": 999}]


def test_unpaired_sets_are_rejected_and_only_latest_wait() -> None:
    queue = LiveQueue(PAIR, 2)
    put_pairs(queue, range(0, 100, 10))
    take_all(queue)
    queue.put("left", 100, "torn from its partner")
    put_pairs(queue, range(110, 130, 10))
    sets = [(each.stamp_ns, each.refused) for each in iter(lambda: queue.take(0.0), None)]
    assert sets == [(100, "unpaired"), (110, ""), (120, "")]
    for stamp in range(130, 10_000, 10):
        queue.put("left", stamp, stamp)
    assert len([*iter(lambda: queue.take(0.0), None)]) == 16


def test_held_inputs_are_never_dropped_and_jump_is_reported_with_next_set() -> None:
    queue = LiveQueue(
        {"scene": InputPort(type="Pointcloud", policy=EACH), "model": InputPort(type="Pointcloud", policy=HOLD)}, 1
    )
    queue.put("model", 0, "model")
    for stamp in (1, 2, 1 + 2 * HOUR_NS, 2 + 2 * HOUR_NS, 3 + 2 * HOUR_NS):
        queue.put("scene", stamp, stamp)
    model, scene = (queue.take(0.0) for _ in range(2))
    assert model is not None and model.is_held and model.values == {"model": "model"}
    assert scene is not None and (scene.values["scene"], scene.jumped) == (3 + 2 * HOUR_NS, True)
    assert (queue.dropped["scene"], queue.skipped["scene"]) == (3, 1)
    assert list(queue.notes) == ["scene: stamp 7200000000001 jumps by 7200.000 s"]
