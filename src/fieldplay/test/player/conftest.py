"""What tests of playback share."""

import pytest

from fieldplay_testing.playback_stage import ListSink, ScheduleSink, Stage


@pytest.fixture(params=[ListSink, ScheduleSink], ids=["each at its time", "schedules"])
def both_sinks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Play into a sink that is handed each message when it is due, and into one that is handed schedules."""
    monkeypatch.setattr(Stage, "sink_type", request.param)
