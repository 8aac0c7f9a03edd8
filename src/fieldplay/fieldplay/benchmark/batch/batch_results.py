"""What came of a batch as tables: results.json, results.csv, methods.csv and a page; a row for each archive."""

import csv
import io
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from fieldplay.benchmark.batch.batch_jobs import (
    CHECK,
    CONVERT,
    DONE,
    EVALUATE,
    FAILED,
    INFO,
    REPORT,
    SKIPPED,
    SLAM,
    Outcome,
)
from fieldplay.core.atomic_output import write_atomically
from fieldplay.core.timestamps import NS_PER_S
from fieldplay.report.page import Html, Section, join, page_of_sections, plain_table, render

JSON, CSV, METHODS, PAGE = "results.json", "results.csv", "methods.csv", "index.html"
ATE, RPE = "ATE m", "RPE %"
EXTENT = ("archive", "duration s", "messages", "defects")
LEAD = (
    "A row for each archive; a click on a heading sorts by it. ATE is the root mean square of the error of places, "
    "RPE that of the error of motion over the longest stretch of way that was looked at, per way."
)
METHODS_LEAD = (
    "Errors as above; drift is that of motion over all stretches of way together. s per s is time by the clock for a "
    "second of data, which says little where workers share cores. A log is all that a method printed."
)
OF_METHODS = {
    ATE: "ate_rmse_m",
    "ATE deg": "ate_rotation_rmse_deg",
    "drift %": "drift_percent",
    "s per s": "seconds_per_s",
    "CPU s per s": "cpu_s_per_s",
    "MB": "rss_mb",
}
SORTING = """
const value = (row, column) => {
  const text = row.cells[column].textContent, number = Number(text);
  return text === "" ? [2, ""] : isNaN(number) ? [1, text] : [0, number];
};
for (const table of document.querySelectorAll("table"))
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    const sort = () => {
      const up = head.dataset.order !== "up", body = table.tBodies[0];
      head.dataset.order = up ? "up" : "down";
      [...body.rows].map(row => [value(row, column), row])
        .sort(([[a, x]], [[b, y]]) => a - b || (x < y ? -1 : x > y ? 1 : 0) * (up ? 1 : -1))
        .forEach(([, row]) => body.append(row));
    };
    head.tabIndex = 0;
    head.style.cursor = "pointer";
    head.addEventListener("click", sort);
    head.addEventListener("keydown", event => event.key === "Enter" && sort());
  });
"""

Row = dict[str, Any]
StepsByName = Mapping[str, Sequence[Outcome]]  # what came of the steps of each archive, by its name


def write_results(out: Path, outcomes: Sequence[Outcome]) -> None:
    """The files, of the archives and steps in this order."""
    steps_by_name: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        steps_by_name.setdefault(outcome.name, []).append(outcome)
    rows = [row_of(name, steps) for name, steps in steps_by_name.items()]
    methods = [row for steps in steps_by_name.values() for row in sorted(_method_rows(steps), key=_by_error)]
    entries = [entry for steps in steps_by_name.values() for entry in entries_of(out, steps)]
    write_atomically(out / JSON, (json.dumps(entries, indent=1) + "\n").encode())
    write_atomically(out / CSV, _csv(rows))
    if methods:
        write_atomically(out / METHODS, _csv(methods))
    write_atomically(out / PAGE, page_of(rows, methods, steps_by_name).encode())


def row_of(name: str, steps: Sequence[Outcome]) -> Row:
    """What is in the table of an archive, by the headings."""
    row: Row = {"archive": name}
    for one in steps:
        if one.command == INFO and one.is_well:
            row |= _extent(one.result["streams"])
        if one.command == CHECK and one.is_well:
            row["defects"] = len(one.result["defects"])
        if one.command == EVALUATE and one.is_well:
            row |= {f"{each['name']} {key}": each[key] for each in estimates_of(one.result) for key in (ATE, RPE)}
    row |= {f"{one['method']} {ATE}": one[ATE] for one in _method_rows(steps)}
    row[FAILED] = ", ".join(one.step for one in steps if not one.is_well)
    return row


def estimates_of(result: Any) -> Iterator[Row]:
    """Name, ATE and RPE of each evaluated odometry, which may be None."""
    for one in result if isinstance(result, list) else [result]:
        errors = one.get("errors", ())
        ates = [row["rmse"] for row in errors if row["name"] == "ATE"]
        fractions = [row["rmse"] for row in errors if row["unit"] == "%" and "rotation" not in row["name"]]
        last = {ATE: ates[-1:], RPE: fractions[-1:]}
        yield {
            "name": one["estimate"]["topic"].lstrip("/"),
            **{key: next(iter(values), None) for key, values in last.items()},
        }


def _method_rows(steps: Sequence[Outcome]) -> Iterator[Row]:
    """A row for each method on an archive, whatever came of it."""
    for step in steps:
        if step.command != SLAM:
            continue
        known = {"archive": step.name, "method": step.step.removeprefix(f"{SLAM}_")}
        for one in step.result or [{"status": FAILED, "error": step.reason}]:
            poses = f"{one['poses']} of {one['scans']}" if one.get("scans") else ""
            errors = {head: one.get(key) if poses else None for head, key in OF_METHODS.items()}
            rpe = one["rpe"][-1] if one.get("rpe") else {"length_m": None, "translation_percent": None}
            relative = {RPE: rpe["translation_percent"], "over m": rpe["length_m"]}
            notes = "; ".join(filter(None, [one["error"], *one.get("notes", ())]))
            log = f"{SLAM}/{known['method']}/log.txt" if step.result and one["status"] != SKIPPED else None
            yield {**known, "status": one["status"], "poses": poses, **errors, **relative, "told": notes, "log": log}


def _by_error(row: Row) -> tuple[bool, float]:
    return row[ATE] is None, row[ATE] or 0.0


def _extent(streams: Sequence[Mapping[str, Any]]) -> Row:
    firsts = [one["first_ns"] for one in streams if one["first_ns"] is not None]
    lasts = [one["last_ns"] for one in streams if one["last_ns"] is not None]
    length_s = (max(lasts) - min(firsts)) / NS_PER_S if firsts else 0.0
    return {"duration s": round(length_s, 3), "messages": sum(one["count"] for one in streams)}


def entries_of(out: Path, steps: Sequence[Outcome]) -> Iterator[Row]:
    """One entry of results.json for each step on an archive; `output` is a path below OUT."""
    datasets = (one.result["dataset"] for one in steps if one.command == INFO and one.is_well)
    dataset = next(datasets, None)
    for one in steps:
        methods = [each["status"] for each in one.result or ()] if one.command == SLAM else []
        status = SKIPPED if methods and set(methods) == {SKIPPED} else DONE if one.is_well else FAILED
        entry = {"name": one.name, "archive": one.archive, "dataset": dataset, "step": one.command}
        if one.command == SLAM:
            entry["method"] = one.step.removeprefix(f"{SLAM}_")
        entry |= {"status": status, "seconds": one.seconds}
        output = one.output
        if output is not None and (out / output).exists():
            entry["output"] = output
        if not one.is_well:
            entry["error"] = one.reason
        yield {**entry, "figures": _figures(one) if one.is_well else {}}


def _figures(one: Outcome) -> Row:
    """The numbers of a step; its own record has the long lists of topics, defects and poses."""
    if one.command == INFO:
        extent = _extent(one.result["streams"])
        return {
            "duration_s": extent["duration s"],
            "messages": extent["messages"],
            "topics": len(one.result["streams"]),
        }
    if one.command == CHECK:
        return {"defects": len(one.result["defects"]), "playable": one.result["playable"]}
    if one.command == EVALUATE:
        return {
            each["name"]: {"ate_rmse_m": each[ATE], "rpe_translation_percent": each[RPE]}
            for each in estimates_of(one.result)
        }
    if one.command == SLAM:
        (row,) = _method_rows([one])
        return {name: row[head] for head, name in OF_METHODS.items()} | {"rpe_translation_percent": row[RPE]}
    return {}


def _csv(rows: Sequence[Row]) -> bytes:
    text = io.StringIO()
    writer = csv.DictWriter(text, headings_of(rows), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode("utf-8", "surrogateescape")


def headings_of(rows: Sequence[Row]) -> list[str]:
    """All headings: what every archive has, the others where they first stand, and last what failed."""
    heads = dict.fromkeys([*EXTENT, *(key for row in rows for key in row)])
    there = [head for head in heads if any(head in row for row in rows)]
    return sorted(there, key=lambda head: head == FAILED)


def page_of(rows: Sequence[Row], methods: Sequence[Row], steps_by_name: StepsByName) -> Html:
    """One page without anything from elsewhere: the tables, and what failed and why."""
    links = {name: _links(name, steps) for name, steps in steps_by_name.items()}
    sections = [
        Section("archives", "Archives", _table([row | {"archive": links[row["archive"]]} for row in rows]), LEAD)
    ]
    if methods:
        logs = [row | {"log": row["log"] and _link("log", row["archive"], *row["log"].split("/"))} for row in methods]
        sections.append(Section("methods", "Methods", _table(logs), METHODS_LEAD))
    issues: dict[tuple[str, str], list[str]] = {}
    for one in (each for steps in steps_by_name.values() for each in steps if not each.is_well):
        issues.setdefault((one.name, one.reason), []).append(one.step)
    if issues:
        items = [
            join([render("tagged", "b", f"{name}, {', '.join(steps)}: "), why]) for (name, why), steps in issues.items()
        ]
        sections.append(Section("failed", "What failed", render("list_card", items)))
    many = f"{len(rows)} archive{'' if len(rows) == 1 else 's'}"
    head = render("header", many, "fieldplay batch")
    return page_of_sections(f"{many}: fieldplay batch", head, sections, script=SORTING)


def _table(rows: Sequence[Row]) -> Html:
    heads = [head for head in headings_of(rows) if any(row.get(head) not in (None, "") for row in rows)]
    cells = [[_cell_text(row.get(head)) for head in heads] for row in rows]
    return plain_table(heads, cells, is_card=True)


def _cell_text(value: object) -> object:
    return "" if value is None else f"{value:.4g}" if isinstance(value, float) else value


def _links(name: str, steps: Sequence[Outcome]) -> Html:
    """The name, to its report where there is one; and what else was written."""
    is_drawn = any(one.command == REPORT and one.is_well for one in steps)
    title = _link(name, name, "report.html") if is_drawn else name
    records = [_link(one.step, name, f"{one.step}.json") for one in steps if one.command not in (CONVERT, SLAM)]
    return join([title, " ", render("tagged", "small", join(join([" ", one]) for one in records), "muted")])


def _link(text: str, *parts: str) -> Html:
    return render("link", text, "/".join(quote(os.fsencode(part), safe="") for part in parts))
