"""The Marulan datasets of ACFR: one dataset or one calibration set, as a folder or a zip of it."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from fieldplay.datasets.acfr.cameras import open_cameras
from fieldplay.datasets.acfr.checks import add_checks
from fieldplay.datasets.acfr.lasers import open_lasers, with_wanted_units
from fieldplay.datasets.acfr.navigation import open_navigation
from fieldplay.datasets.acfr.payload import open_payload
from fieldplay.datasets.acfr.radar import open_radar
from fieldplay.datasets.acfr.reference_objects import STREAM as OBJECTS
from fieldplay.datasets.acfr.reference_objects import reference_objects
from fieldplay.datasets.acfr.sets import note_set, require_one, table_files
from fieldplay.datasets.acfr.sweeps import sweep_watcher
from fieldplay.datasets.archive import (
    Archive,
    chosen_parameters,
    note_leftovers,
    open_tables_of,
)
from fieldplay.datasets.spec import DatasetSpec
from fieldplay.io.containers import open_files


def open_archive(root: Path, spec: DatasetSpec, parameters: Mapping[str, Any]) -> Archive:
    """Look through a dataset; what it lacks is noted, what is defective is reported."""
    archive = Archive(root=root, spec=spec, parameters=chosen_parameters(spec, parameters))
    with archive.on_close:
        files = archive.on_close.enter_context(open_files(root, archive.defects))
        with_wanted_units(archive)
        name = require_one(root, files)
        names = table_files(archive, files, name)
        places = {key: [(files, file) for file in found] for key, found in names.items()}
        tables = open_tables_of(archive, places, watch=partial(sweep_watcher, archive))
        streams = open_lasers(archive, tables) | open_payload(archive, tables) | open_navigation(archive, tables)
        streams |= open_radar(archive, tables) | open_cameras(archive, files, name)
        note_leftovers(archive, files)
        archive.streams = streams
        known = note_set(archive)
        if (objects := reference_objects(archive, known)) is not None:
            streams[OBJECTS] = objects
        archive.streams = {stream.id: streams[stream.id] for stream in spec.streams if stream.id in streams}
        add_checks(archive, tables, known)
        archive.on_close = archive.on_close.pop_all()
    return archive
