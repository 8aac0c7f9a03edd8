"""What was found wrong, by kind, with the places; and what is worth knowing."""

from fieldplay.report.findings import Finding
from fieldplay.report.html.markup import Html, element, joined
from fieldplay.report.html.page import Section
from fieldplay.report.html.ticks import count_text
from fieldplay.report.recording import Recording


def problem_sections(recording: Recording) -> list[Section]:
    """All kinds of problems, the most frequent first; and the notes."""
    findings = recording.findings
    kinds = [_kind(kind, count, findings.kept[kind]) for kind, count in findings.counts.most_common()]
    nothing = element("p", "Nothing was found to be wrong.")
    sections = [Section("problems", "Problems", element("div", *(kinds or [nothing]), class_="card"))]
    if findings.notes:
        notes = element("ul", *(element("li", note) for note in findings.notes), class_="notes")
        sections.append(Section("notes", "Notes", element("div", notes, class_="card")))
    return sections


def _kind(kind: str, count: int, kept: list[Finding]) -> Html:
    title = element("h3", kind.replace("_", " ").capitalize(), " ", element("span", count_text(count)))
    items = [element("li", element("span", finding.place, class_="place"), ": ", finding.message) for finding in kept]
    more = count - len(kept)
    if more > 0 and len(kept) > 1:
        items.append(element("li", f"and {count_text(more)} more", class_="muted"))
    return element("div", joined([title, element("ul", *items)]), class_="kind")
