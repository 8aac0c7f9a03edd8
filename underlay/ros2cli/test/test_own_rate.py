from ros2cli.verbs.topic_verbs import RateWindow

MS = 1_000_000


def reports(window, times_ms):
    found = []
    for time_ms in times_ms:
        window.arrived(time_ms * MS)
        found.append(window.report())
    return [report for report in found if report is not None]


def test_reports_come_once_a_second_as_upstream_writes_them():
    assert reports(RateWindow(10_000), range(1000, 3301, 100)) == [
        f"average rate: 10.000\n\tmin: 0.100s max: 0.100s std dev: 0.00000s window: {count}\n" for count in (11, 21)
    ]


def test_the_window_keeps_the_last_intervals_only():
    times_ms = [*range(1000, 2000, 500), *range(2000, 4000, 100)]
    assert "max: 0.100s" in reports(RateWindow(5), times_ms)[-1]


def test_a_time_that_goes_back_starts_anew():
    window = RateWindow(10_000)
    reports(window, range(5000, 7000, 100))
    (report,) = reports(window, range(1000, 2300, 200))
    assert "max: 0.200s" in report and "window: 6" in report
