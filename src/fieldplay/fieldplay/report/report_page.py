"""From a source to a page: one pass through its messages, then each panel draws what it kept."""

from collections.abc import Sequence

import numpy as np

from fieldplay.core.number_text import (
    count_noun,
    count_text,
    duration_text,
    size_text,
)
from fieldplay.core.progress import Progress
from fieldplay.core.timestamps import utc_text
from fieldplay.recording.recording import Recording
from fieldplay.report.camera_panel import CameraPanel, ImageLinePanel
from fieldplay.report.odometry_panel import OdometryErrorPanel
from fieldplay.report.overview import Overview, Panel
from fieldplay.report.page import Html, Section, page_of_sections, render
from fieldplay.report.range_panels import BearingPanel, CloudPanel, ScanPanel
from fieldplay.report.signal_panel import JointPanel, SignalPanel
from fieldplay.report.sketch_panels import ArmPanel, KeyframePanel
from fieldplay.report.stream_panel import stream_sections
from fieldplay.report.tf_panel import TransformPanel
from fieldplay.report.trajectory_panel import TrajectoryPanel
from fieldplay.streams.stream_times import StreamTimes

DETAILS = (JointPanel, SignalPanel, TransformPanel)  # below what one looks for first


def read_recording(source: Recording, progress: Progress) -> tuple[Overview, list[Panel]]:
    """Read a source once; return its overview and the panels with its messages."""
    overview = Overview(subject=source.info, issues=source.issues)
    frames, counts = overview.frames, source.expected_counts
    views: list[Panel] = [TrajectoryPanel(frames), KeyframePanel(), OdometryErrorPanel(frames), ArmPanel(frames)]
    views += [CameraPanel(), ImageLinePanel(counts), CloudPanel(counts), ScanPanel(), BearingPanel()]
    panels = [*views, JointPanel(), SignalPanel(), TransformPanel(frames)]
    types = {msgtype for panel in panels for msgtype in panel.msgtypes}
    by_type = {msgtype: [panel for panel in panels if msgtype in panel.msgtypes] for msgtype in types}
    for topic in source.typed_topics:
        overview.streams[topic] = StreamTimes()
    for batch in source.batches(progress):
        overview.streams.setdefault(batch.topic, StreamTimes()).add(batch.stamp_ns)
        for panel in by_type.get(batch.topic.msgtype, ()) if batch.is_readable else ():
            panel.add(batch)
    for topic in source.typed_topics:
        overview.streams.setdefault(topic, StreamTimes())
    for times in overview.streams.values():
        times.flush_pending()
    return overview, panels


def sections_of(overview: Overview, panels: Sequence[Panel]) -> list[Section]:
    """All sections of the page, in order: what one looks for first, then the details, then what is wrong."""
    for panel in panels:
        panel.report_issues(overview.issues)
    _report_empty(overview)
    views = [section for panel in panels if not isinstance(panel, DETAILS) for section in panel.sections(overview)]
    details = [section for panel in panels if isinstance(panel, DETAILS) for section in panel.sections(overview)]
    return [*views, *stream_sections(overview), *details, *issue_sections(overview)]


def page_of(source: Recording, progress: Progress) -> Html:
    """The page about a source."""
    with np.errstate(over="ignore", invalid="ignore"):  # damaged messages may hold any number
        overview, panels = read_recording(source, progress)
        sections = sections_of(overview, panels)
    return page_of_sections(f"{overview.subject.name} · fieldplay", head_of(overview), sections)


def head_of(overview: Overview) -> Html:
    """The top of the page: what it is about, in a few numbers."""
    subject, issues = overview.subject, overview.issues
    problems = issues.total
    day, _, clock = (utc_text(overview.start_ns) if overview.message_count else "no day – ").partition(" ")
    tiles = [
        _duration_tile(overview),
        (f"UTC on {day}", clock, ""),
        ("topics", count_text(len(overview.streams)), ""),
        ("messages", count_text(overview.message_count), ""),
        ("on disk", size_text(subject.size_bytes), ""),
        ("problems", count_text(problems) if problems else "none", "alarm" if problems else "fine"),
    ]
    name = subject.kind if subject.title == subject.name else f"{subject.name} · {subject.kind}"
    facts = " · ".join(f"{fact} {value}" for fact, value in subject.facts)
    return render("header", subject.title, name, facts, tiles)


def _duration_tile(overview: Overview) -> tuple[str, str, str]:
    """From the first to the last message; where axes pass over gaps, how much there is between these, too."""
    if len(overview.intervals_ns) < 2:
        return "duration", duration_text(overview.duration_s), ""
    intervals = count_noun(len(overview.intervals_ns), "piece")
    return f"in {intervals}, over {duration_text(overview.duration_s)}", duration_text(overview.recorded_s), ""


def _report_empty(overview: Overview) -> None:
    issues = overview.issues
    if not overview.message_count:
        issues.add("nothing_recorded", overview.subject.name, "it holds no message at all")
        return
    for topic, times in overview.streams.items():
        if not times.count:
            issues.note(f"{topic.name}: no message")


def issue_sections(overview: Overview) -> list[Section]:
    """All kinds of issues, the most frequent first; and the notes."""
    issues = overview.issues
    kinds = [
        (kind.replace("_", " ").capitalize(), count_text(count), listed, _more(count, len(listed)))
        for kind, count in issues.counts.most_common()
        for listed in (issues.listed[kind],)
    ]
    sections = [Section("problems", "Problems", render("issue_list", kinds))]
    return [*sections, Section("notes", "Notes", render("list_card", issues.notes))] if issues.notes else sections


def _more(count: int, listed: int) -> str:
    """How many issues of a kind are not listed; of one that stands for many, nothing."""
    return count_text(count - listed) if count > listed > 1 else ""
