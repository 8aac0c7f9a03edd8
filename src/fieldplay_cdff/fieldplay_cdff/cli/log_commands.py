"""The commands about logs: info, show, index, chunk, join and export."""

import argparse
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from fieldplay.cli.arguments import require_output, unreadable_reason
from fieldplay.cli.terminal import note, print_line, progress_bar
from fieldplay.core.atomic_output import atomic_output
from fieldplay.core.errors import ArchiveError, Defect, UsageError
from fieldplay.core.number_text import count_noun, size_text
from fieldplay.core.progress import track_opening
from fieldplay.export.table_columns import lists_of_word, to_plain
from fieldplay.export.table_file import CSV, PARQUET, file_names
from fieldplay.io.containers import FolderFiles
from fieldplay_cdff.logs.log import Log
from fieldplay_cdff.logs.log_streams import LogStream
from fieldplay_cdff.tools import index_state, summary
from fieldplay_cdff.tools.cuts import (
    PACKED,
    Cut,
    rows_of_cut,
    write_cut,
)
from fieldplay_cdff.tools.log_choice import chosen_streams, open_logs
from fieldplay_cdff.tools.sample_text import (
    Limits,
    TableOptions,
    export_stream,
    lines_of,
    lines_of_sample,
    named_entries,
    row_of,
)
from fieldplay_cdff.tools.time_arguments import start_of_log, time_of_word

DONE, FAULTY = 0, 1
LOG_SUFFIXES = (".msg", ".msg.zz")
OTHER_TABLES = (".xlsx", ".xls", ".ods", ".tsv", ".txt", ".json", ".feather", ".arrow", ".pq", ".gz", ".zip", ".msg")


def info(chosen: argparse.Namespace) -> int:
    """Print the contents of logs."""
    with open_logs_with_issues(chosen.logs) as (log, issues):
        files, streams = summary.file_summaries(log), summary.stream_summaries(log)
    if chosen.json:
        print_line(json.dumps(summary.as_json(files, streams, issues), indent=2))
        return DONE
    for line in summary.as_lines(files, streams):
        print_line(line)
    for issue in issues:
        print_line(f"fault: {issue}")
    return DONE


def show(chosen: argparse.Namespace) -> int:
    """One sample of a stream, or of each."""
    limits = Limits(depth=chosen.depth, items=chosen.max_list)
    with open_logs_with_issues([chosen.archive]) as (log, issues):
        if not log.streams and not chosen.stream:
            _show_settings(log.settings, limits, as_json=chosen.json)
            return DONE
        streams = [log.streams[name] for name in chosen_streams(log, [chosen.stream] if chosen.stream else [])]
        time_ns = time_of_word(chosen.time, start_of_log(log)) if chosen.time is not None else None
        rows = list(_rows(streams, chosen.index, time_ns, is_named=bool(chosen.stream)))
        if chosen.json:
            samples = [
                {"stream": each.name, "type": each.type, "index": row, "sample": to_plain(each.sample(row))}
                for each, row in rows
            ]  # fmt: skip
            print_line(json.dumps(samples[0] if chosen.stream else samples, indent=2, ensure_ascii=False))
        else:
            for number, (stream, row) in enumerate(rows):
                for line in [""] * bool(number) + list(lines_of_sample(stream, row, limits)):
                    print_line(line)
    print_issues(issues)
    return DONE if rows else FAULTY


def _show_settings(settings: Mapping[str, Any], limits: Limits, *, as_json: bool) -> None:
    """The settings files that have no log next to them."""
    named = {file: named_entries(entries) for file, entries in settings.items()}
    if as_json:
        print_line(json.dumps(to_plain(named), indent=2, ensure_ascii=False))
        return
    for file, entries in named.items():
        for line in [f"{file} (settings)", *lines_of(entries, limits)]:
            print_line(line)


def _rows(
    streams: Sequence[LogStream], index: int | None, time_ns: int | None, *, is_named: bool
) -> Iterator[tuple[LogStream, int]]:
    """The sample to show of each stream; of several, those that have none such are left out."""
    for stream in streams:
        try:
            yield stream, row_of(stream, index=index, time_ns=time_ns)
        except UsageError as error:
            if is_named:
                raise
            note(str(error))


def index(chosen: argparse.Namespace) -> int:
    """The indexes of logs, made where they are worth it and missing."""
    files = []
    if chosen.forget:
        require_there(chosen.logs)
        files = [file for path in chosen.logs for file in ([path] if path.is_file() else sorted(path.rglob("*.msg*")))]
        gone = index_state.forget(files)
        print_line(f"{gone} index{'' if gone == 1 else 'es'} forgotten")
        return DONE
    with open_logs_with_issues(chosen.logs) as (log, issues):
        if isinstance(log.files, FolderFiles):
            files = [log.files.root / name for name in log.names]
    states = [index_state.state_of(file) for file in files]
    if chosen.json:
        print_line(json.dumps(index_state.as_json(states), indent=2))
    else:
        for line in index_state.as_lines(states):
            print_line(line)
    print_issues(issues)
    return DONE


def chunk(chosen: argparse.Namespace) -> int:
    """A part of a log as a log."""
    return _write_log(chosen, [chosen.archive], chosen.streams, cut=Cut(start=chosen.start, end=chosen.end))


def join(chosen: argparse.Namespace) -> int:
    """The parts of a recording as one log."""
    return _write_log(chosen, chosen.logs, [], cut=Cut())


def _write_log(chosen: argparse.Namespace, logs: Sequence[Path], names: Sequence[str], *, cut: Cut) -> int:
    if not chosen.out.name.lower().endswith(LOG_SUFFIXES):
        raise UsageError(f"{chosen.out}: expected a name that ends in {' or '.join(LOG_SUFFIXES)}")
    _require_output_path(chosen, logs)
    with open_logs_with_issues(logs) as (log, issues):
        if _is_refused(chosen, issues):
            return FAULTY
        streams = chosen_streams(log, names)
        rows = [rows_of_cut(log, log.streams[name], cut) for name in streams]
        if not any(len(own) for own in rows):
            note("no sample is in this time range; nothing is written")
            return FAULTY
        with progress_bar("writing", "MB") as bar, atomic_output(chosen.out) as partial:
            write_cut(log, streams, rows, out=partial, progress=bar)
    packed = ", packed" if chosen.out.name.lower().endswith(PACKED) else ""
    counts = f"{count_noun(sum(map(len, rows)), 'sample')} of {count_noun(len(streams), 'stream')}"
    print_line(f"{chosen.out}: {counts}, {size_text(chosen.out.stat().st_size)}{packed}")
    return DONE


def export(chosen: argparse.Namespace) -> int:
    """Streams as tables."""
    suffix = chosen.out.suffix.lower()
    is_file = suffix in (CSV, PARQUET)
    if suffix in OTHER_TABLES:
        raise UsageError(f"{chosen.out}: expected a name that ends in {CSV} or {PARQUET}, or a new folder")
    _require_output_path(chosen, [chosen.archive], is_folder=not is_file)
    options = TableOptions(lists=lists_of_word(chosen.lists), clock=chosen.time)
    with open_logs_with_issues([chosen.archive]) as (log, issues):
        if _is_refused(chosen, issues):
            return FAULTY
        names = chosen_streams(log, chosen.streams)
        if is_file and len(names) != 1:
            there = f"; there are {', '.join(log.streams)}" if not chosen.streams else ""
            raise UsageError(f"{chosen.out} is for one stream, and these are {len(names)}: name a folder{there}")
        with atomic_output(chosen.out, is_folder=not is_file) as partial:
            paths = [partial] if is_file else [partial / each for each in file_names(names, f".{chosen.format}")]
            lines = [
                _export_one(log.streams[name], path, options, issues=issues)
                for name, path in zip(names, paths, strict=True)
            ]
            options.lists.require_known()
            if chosen.strict and issues:
                raise ArchiveError(f"--strict: {count_noun(len(issues), 'fault')}; nothing is written")
    for path, line in zip(paths, lines, strict=True):
        print_line(f"{chosen.out if is_file else chosen.out / path.name}: {line}")
    return DONE


def _export_one(stream: LogStream, path: Path, options: TableOptions, *, issues: list[Defect]) -> str:
    def report(issue: Defect) -> None:
        issues.append(issue)
        note(str(issue))

    with progress_bar(f"exporting {stream.name}", "samples") as bar:
        done = export_stream(stream, path, options, report=report, progress=bar)
    twice = "; read twice, as later samples have other columns" if done.passes > 1 else ""
    return f"{count_noun(done.rows, 'row')} of {count_noun(len(done.columns) + 1, 'column')}{twice}"


def _require_output_path(chosen: argparse.Namespace, logs: Sequence[Path], *, is_folder: bool = False) -> None:
    if is_folder and os.path.lexists(chosen.out):
        raise UsageError(f"{chosen.out} exists; tables go into a new folder, none is replaced")
    if chosen.out.is_dir():
        raise UsageError(f"{chosen.out} is a folder")
    for log in logs:
        require_output(log, chosen.out, overwrite=chosen.overwrite)
    if not chosen.out.absolute().parent.is_dir():
        raise UsageError(f"{chosen.out.parent}: there is no such folder")


def _is_refused(chosen: argparse.Namespace, issues: Sequence[Defect]) -> bool:
    """Print the issues of the log; return whether --strict forbids writing because of them."""
    print_issues(issues)
    if chosen.strict and issues:
        note(f"--strict: {count_noun(len(issues), 'fault')}; nothing is written")
    return bool(chosen.strict and issues)


TOOLS: dict[str, Callable[[argparse.Namespace], int]] = {
    "info": info, "show": show, "index": index, "chunk": chunk, "join": join, "export": export,
}  # fmt: skip


@contextmanager
def open_logs_with_issues(paths: Sequence[Path]) -> Iterator[tuple[Log, list[Defect]]]:
    """Open logs and collect their issues."""
    require_there(paths)
    issues: list[Defect] = []
    notes: list[str] = []
    with ExitStack() as stack:
        with progress_bar("reading", "MB") as bar, track_opening(bar):
            log = stack.enter_context(open_logs(paths, issues.append, notes.append))
        for text in notes:
            note(f"note: {text}")
        yield log, issues


def require_there(paths: Sequence[Path]) -> None:
    """UsageError where a path leads to nothing that can be read."""
    for issue in filter(None, map(unreadable_reason, paths)):
        raise UsageError(issue)


def print_issues(issues: Sequence[Defect]) -> None:
    """Print one line for each issue."""
    for issue in issues:
        note(str(issue))
