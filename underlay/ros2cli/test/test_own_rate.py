import pytest

from ros2cli.rate import RateReport, RateWindow

MS = 1_000_000


def reports(window, times_ms):
    found = []
    for time_ms in times_ms:
        window.arrived(time_ms * MS)
        found.append(window.report())
    return [report for report in found if report is not None]


def test_a_report_reads_as_upstream_writes_it():
    assert str(RateReport(19.9994, 0.0496, 0.0504, 0.000123, 20)) == (
        "average rate: 19.999\n\tmin: 0.050s max: 0.050s std dev: 0.00012s window: 20\n"
    )


def test_rate_and_spread_of_the_intervals():
    report = RateReport.over([100 * MS, 300 * MS])
    assert (report.rate_hz, report.min_s, report.max_s, report.std_dev_s) == pytest.approx((5.0, 0.1, 0.3, 0.1))
    assert report.window == 2
    assert RateReport.over([0, 0]).rate_hz == 0.0


def test_reports_come_once_a_second():
    found = reports(RateWindow(10_000), range(1000, 3301, 100))
    assert [(report.window, report.rate_hz) for report in found] == [(11, pytest.approx(10)), (21, pytest.approx(10))]


def test_no_message_no_report():
    window = RateWindow(10)
    assert window.report() is None
    window.arrived(5)
    assert window.report() is None


def test_the_window_keeps_the_last_intervals_only():
    times_ms = [*range(1000, 2000, 500), *range(2000, 4000, 100)]
    assert reports(RateWindow(5), times_ms)[-1].max_s == pytest.approx(0.1)


def test_a_time_that_goes_back_starts_anew():
    window = RateWindow(10_000)
    reports(window, range(5000, 7000, 100))
    found = reports(window, range(1000, 2300, 200))
    assert [(report.window, report.max_s) for report in found] == [(6, pytest.approx(0.2))]
