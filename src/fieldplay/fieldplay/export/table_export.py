"""Topics as tables: CSV or Parquet, a row for each message."""

import json
from collections.abc import Iterator
from pathlib import Path

from fieldplay.bags.qos import undefined_types
from fieldplay.core.errors import ArchiveError
from fieldplay.export.folder import ExportedFeeds, ExportedTopic
from fieldplay.export.message_rows import HEAVY, MessageRows
from fieldplay.export.table_columns import Lists
from fieldplay.export.table_file import (
    TooManyColumnsError,
    Written,
    file_names,
    write_table,
)
from fieldplay.export.transform_rows import TRANSFORMS, TransformRows
from fieldplay.recording.transform_source import TF
from fieldplay.topics.plain_bag_topics import kind_of_feed


def export_tables(feeds: ExportedFeeds, folder: Path, suffix: str, lists: Lists) -> Iterator[ExportedTopic]:
    """A file for each topic; what is known of its columns is told, and stands in a Parquet file too."""
    topics = [topic for topic in feeds.feeds if _is_defined(feeds, topic)]
    if not topics:
        raise ArchiveError(f"{feeds.archive.root}: no topic whose messages can be read")
    for name, topic in zip(file_names(topics, suffix), topics, strict=True):
        own = feeds.feeds[topic]
        rows = _rows_of_topic(feeds, topic, lists)
        try:
            written = _write(feeds, rows, folder / name)
        except TooManyColumnsError as error:
            feeds.tell(topic, "too_many_columns", error, "its lists stay in one column each")
            rows = _rows_of_topic(feeds, topic, Lists())
            written = _write(feeds, rows, folder / name)
        columns = [written.time_name, *written.columns]
        yield ExportedTopic(
            topic=topic,
            type=own[0].msgtype,
            path=name,
            count=written.rows,
            units={column: rows.unit(column) for column in columns},
            note="without its bytes, which --format images, pcd and ply write" if own[0].msgtype in HEAVY else "",
        )
    lists.require_known()


def _is_defined(feeds: ExportedFeeds, topic: str) -> bool:
    """Whether the messages of a topic can be read: all types in them are defined; an issue is reported where not."""
    missing = undefined_types(kind_of_feed(feeds.feeds[topic][0]))
    if missing:
        what = f"expected a definition of {' and '.join(missing)}, got none; --msgs DIR takes a folder of .msg files"
        feeds.tell(topic, "missing_definition", ArchiveError(what))
    return not missing


def _rows_of_topic(feeds: ExportedFeeds, topic: str, lists: Lists) -> MessageRows:
    own = feeds.feeds[topic]
    if own[0].msgtype == TF and not lists.expands(TRANSFORMS):
        return TransformRows(feeds=own, window=feeds.window)
    return MessageRows(feeds=own, window=feeds.window, lists=lists, units=feeds.units(topic))


def _write(feeds: ExportedFeeds, rows: MessageRows, path: Path) -> Written:
    facts = {"topic": rows.name, "type": rows.feeds[0].msgtype, "units": json.dumps(rows.units_of_columns)}
    with feeds.watch(f"exporting {rows.name}") as progress:
        return write_table(rows, path, progress=progress, report=feeds.archive.defects, facts=facts)
