"""Topics as tables: CSV or Parquet, a row for each message."""

import json
from collections.abc import Iterator
from pathlib import Path

from fieldplay.export.folder import ExportedFeeds, ExportedTopic
from fieldplay.export.message_rows import HEAVY, MessageRows
from fieldplay.tables.columns import Lists
from fieldplay.tables.table import file_names, write_table


def export_tables(feeds: ExportedFeeds, folder: Path, suffix: str, lists: Lists) -> Iterator[ExportedTopic]:
    """A file for each topic; what is known of its columns is told, and stands in a Parquet file too."""
    for name, topic in zip(file_names(list(feeds.feeds), suffix), feeds.feeds, strict=True):
        own = feeds.feeds[topic]
        rows = MessageRows(feeds=own, window=feeds.window, lists=lists, units=feeds.units(topic))
        facts = {"topic": topic, "type": own[0].msgtype}
        facts["units"] = json.dumps({each.name: each.unit for each in rows.fields if each.unit})
        with feeds.watch(f"exporting {topic}") as progress:
            report = feeds.archive.defects
            written = write_table(rows, folder / name, progress=progress, report=report, facts=facts)
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
