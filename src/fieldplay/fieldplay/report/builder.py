"""From a source to a page: one pass through its messages, then each panel draws what it kept."""

from collections.abc import Sequence

import numpy as np

from fieldplay.dates import utc_text
from fieldplay.report.html.markup import Html, element
from fieldplay.report.html.page import Section, page_of_sections
from fieldplay.report.html.ticks import count_text, duration_text, many, size_text
from fieldplay.report.panel import Panel
from fieldplay.report.panels.arm_views import ArmPanel
from fieldplay.report.panels.bearings import BearingPanel
from fieldplay.report.panels.cameras import CameraPanel
from fieldplay.report.panels.clouds import CloudPanel
from fieldplay.report.panels.joints import JointPanel
from fieldplay.report.panels.odometry_errors import OdometryErrorPanel
from fieldplay.report.panels.problems import problem_sections
from fieldplay.report.panels.scans import ScanPanel
from fieldplay.report.panels.signals import SignalPanel
from fieldplay.report.panels.streams import stream_sections
from fieldplay.report.panels.trajectories import TrajectoryPanel
from fieldplay.report.panels.transforms import TransformPanel
from fieldplay.report.recording import Recording
from fieldplay.report.source import Source
from fieldplay.report.stream_times import StreamTimes
from fieldplay_messages.batches import Progress

# What one looks for first.
VIEWS = (TrajectoryPanel, OdometryErrorPanel, ArmPanel, CameraPanel, CloudPanel, ScanPanel, BearingPanel)


def recorded(source: Source, progress: Progress) -> tuple[Recording, list[Panel]]:
    """Read a source once: what is known of it, and the panels that have heard its messages."""
    recording = Recording(subject=source.subject, findings=source.findings)
    frames = recording.frames
    views: list[Panel] = [TrajectoryPanel(frames), OdometryErrorPanel(frames), ArmPanel(frames)]
    views += [CameraPanel(), CloudPanel(), ScanPanel(), BearingPanel(frames)]
    panels = [*views, JointPanel(), SignalPanel(), TransformPanel(frames)]
    types = {msgtype for panel in panels for msgtype in panel.msgtypes}
    by_type = {msgtype: [panel for panel in panels if msgtype in panel.msgtypes] for msgtype in types}
    for topic in source.topics:
        recording.streams[topic] = StreamTimes()
    for batch in source.batches(progress):
        recording.streams.setdefault(batch.topic, StreamTimes()).add(batch.stamp_ns)
        for panel in by_type.get(batch.topic.msgtype, ()) if batch.parts else ():
            panel.add(batch)
    for topic in source.topics:
        recording.streams.setdefault(topic, StreamTimes())
    for times in recording.streams.values():
        times.take_in()
    return recording, panels


def sections_of(recording: Recording, panels: Sequence[Panel]) -> list[Section]:
    """All sections of the page, in order: what one looks for first, then the details, then what is wrong."""
    for panel in panels:
        panel.tell(recording.findings)
    _tell_empty(recording)
    views = [section for panel in panels if isinstance(panel, VIEWS) for section in panel.sections(recording)]
    details = [section for panel in panels if not isinstance(panel, VIEWS) for section in panel.sections(recording)]
    return [*views, *stream_sections(recording), *details, *problem_sections(recording)]


def page_of(source: Source, progress: Progress) -> Html:
    """The page about a source."""
    with np.errstate(over="ignore", invalid="ignore"):  # damaged messages may hold any number
        recording, panels = recorded(source, progress)
        sections = sections_of(recording, panels)
    return page_of_sections(f"{recording.subject.name} · fieldplay", head_of(recording), sections)


def head_of(recording: Recording) -> Html:
    """The top of the page: what it is about, in a few numbers."""
    subject, findings = recording.subject, recording.findings
    problems = findings.total
    day, _, clock = (utc_text(recording.start_ns) if recording.message_count else "no day – ").partition(" ")
    tiles = [
        _duration_tile(recording),
        (f"UTC on {day}", clock, ""),
        ("topics", count_text(len(recording.streams)), ""),
        ("messages", count_text(recording.message_count), ""),
        ("on disk", size_text(subject.size_bytes), ""),
        ("problems", count_text(problems) if problems else "none", "alarm" if problems else "fine"),
    ]
    shown = (
        element(
            "a" if kind else "div",
            element("b", value),
            element("span", name),
            class_=f"tile {kind}".strip(),
            href="#problems" if kind else None,
        )
        for name, value, kind in tiles
    )
    name = subject.kind if subject.title == subject.name else f"{subject.name} · {subject.kind}"
    facts = " · ".join(f"{fact} {value}" for fact, value in subject.facts)
    return element(
        "header",
        element("div", name, class_="eyebrow"),
        element("h1", subject.title),
        element("p", facts, class_="lead") if facts else "",
        element("div", *shown, class_="tiles"),
    )


def _duration_tile(recording: Recording) -> tuple[str, str, str]:
    """From the first to the last message; where axes pass over gaps, how much there is between these, too."""
    if len(recording.pieces_ns) < 2:
        return "duration", duration_text(recording.duration_s), ""
    pieces = many(len(recording.pieces_ns), "piece")
    return f"in {pieces}, over {duration_text(recording.duration_s)}", duration_text(recording.recorded_s), ""


def _tell_empty(recording: Recording) -> None:
    findings = recording.findings
    if not recording.message_count:
        findings.add("nothing_recorded", recording.subject.name, "it holds no message at all")
        return
    for topic, times in recording.streams.items():
        if not times.count:
            findings.note(f"{topic.name}: no message")
