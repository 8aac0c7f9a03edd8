"""The play head against a monotonic clock that the test sets."""

from threading import TIMEOUT_MAX, Condition, Thread

from fieldplay.player.player_time import MAX_WAITED_S, PlayerClock, SystemTime

START = 1_656_931_512_000_000_000


class Monotonic:
    def __init__(self) -> None:
        self.ns = 5_000

    def __call__(self) -> int:
        return self.ns


def test_clock_stands_until_started() -> None:
    now = Monotonic()
    clock = PlayerClock(now, START)
    now.ns += 1_000
    assert (clock.runs, clock.position_ns) == (False, START)


def test_clock_runs_at_rate_from_given_position() -> None:
    now = Monotonic()
    clock = PlayerClock(now, START, rate=2.5)
    clock.run_from(START + 100)
    now.ns += 1_000
    assert clock.position_ns == START + 100 + 2_500


def test_deadline_is_time_when_position_is_reached() -> None:
    now = Monotonic()
    clock = PlayerClock(now, START, rate=0.5)
    clock.run_from(START)
    due = clock.deadline_ns(START + 700)
    assert due == 5_000 + 1_400
    now.ns = due
    assert clock.position_ns == START + 700


def test_late_queries_do_not_shift_deadlines() -> None:
    now = Monotonic()
    clock = PlayerClock(now, START, rate=3.0)
    clock.run_from(START)
    hour = 3_600_000_000_000
    expected = clock.deadline_ns(START + hour)
    for _ in range(1_000):
        now.ns += 123_457
        assert clock.deadline_ns(START + hour) == expected == 5_000 + hour // 3


def test_new_rate_continues_from_given_position() -> None:
    now = Monotonic()
    clock = PlayerClock(now, START)
    clock.run_from(START)
    now.ns += 1_000
    clock.set_rate(10.0, clock.position_ns)
    assert clock.position_ns == START + 1_000
    now.ns += 100
    assert clock.position_ns == START + 2_000
    assert clock.deadline_ns(START + 3_000) == now.ns + 100


def test_rate_set_while_stopped_applies_after_start() -> None:
    now = Monotonic()
    clock = PlayerClock(now, START)
    clock.set_rate(4.0, START)
    now.ns += 1_000
    assert clock.position_ns == START
    clock.run_from(START)
    now.ns += 10
    assert clock.position_ns == START + 40


def test_stopped_clock_keeps_position() -> None:
    now = Monotonic()
    clock = PlayerClock(now, START)
    clock.run_from(START)
    now.ns += 500
    clock.stop_at(clock.position_ns)
    now.ns += 10_000
    assert clock.position_ns == START + 500


def test_wait_ends_on_time_or_with_notification() -> None:
    system, changed = SystemTime(), Condition()
    with changed:
        for wait_ns in (-1_000_000, 0, 30_000, 3_000_000):
            until_ns = system.now() + wait_ns
            system.wait(changed, until_ns)
            assert system.now() >= until_ns
        ended_ns = system.now() + 3600 * 1_000_000_000
        Thread(target=notify, args=(changed,)).start()
        system.wait(changed, ended_ns)
        assert system.now() < ended_ns


class Passing(Condition):
    """Notes for how long somebody waits, and lets the time pass."""

    def __init__(self) -> None:
        super().__init__()
        self.waited: list[float | None] = []

    def wait(self, timeout: float | None = None) -> bool:
        self.waited.append(timeout)
        return False


def test_wait_of_centuries_is_split() -> None:
    system, changed = SystemTime(), Passing()
    system.wait(changed, system.now() + 10**20)
    assert changed.waited == [MAX_WAITED_S] and MAX_WAITED_S < TIMEOUT_MAX


def notify(changed: Condition) -> None:
    with changed:
        changed.notify_all()
