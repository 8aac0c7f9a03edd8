"""Indexes of logs that are kept: one that was damaged is either none, or says what the log says."""

import atexit
import io
import os
import random
import shutil
import tempfile
from pathlib import Path

import msgpack
import numpy as np

from campaigns.frame import Found, Inputs, WrongError
from campaigns.message_pack_logs import NUMBERS, plain_log
from campaigns.mutations import INTEGERS, changed
from fieldplay.core.errors import ArchiveError
from fieldplay_cdff.logs.file_index import (
    SMALLEST,
    FileIndex,
    cached_index,
    index_path,
)
from fieldplay_cdff.logs.log import open_log

MEMORY = Path("/dev/shm")
HEAD = "head"


class IndexCaches(Inputs):
    """See above; some are npz files that are whole, and only say other numbers."""

    suffix = "npz"

    def __init__(self) -> None:
        folder = tempfile.mkdtemp(prefix="campaign-", dir=MEMORY if MEMORY.is_dir() else None)
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        self._log = Path(folder) / "a.msg"
        os.environ["FIELDPLAY_CACHE"] = str(Path(folder) / "cache")
        own = {name: value for name, value in plain_log().items() if name.startswith(NUMBERS)}
        large = {"/camera.frame": ["x" * SMALLEST]}
        self._log.write_bytes(msgpack.packb(own | large, use_bin_type=False))
        open_log(self._log, lambda defect: None).close()  # which keeps its index
        self._place = index_path(self._log)
        self._kept = self._place.read_bytes()
        self._index = self._said()
        with np.load(io.BytesIO(self._kept)) as arrays:
            self._arrays = {name: arrays[name] for name in arrays.files}

    def mutated(self, draw: random.Random) -> bytes:
        return changed(draw, self._kept) if draw.random() < 0.7 else self._with_lie(draw)

    def _with_lie(self, draw: random.Random) -> bytes:
        """An index of other numbers, as a whole."""
        arrays = {name: array.copy() for name, array in self._arrays.items()}
        if draw.random() < 0.3:
            arrays[HEAD] = np.frombuffer(changed(draw, bytes(arrays[HEAD])), np.uint8)
        else:
            array = arrays[draw.choice([name for name in arrays if name != HEAD and arrays[name].size])]
            flat = array.reshape(-1)
            field = draw.choice(flat.dtype.names) if flat.dtype.names else ...
            number = draw.choice(INTEGERS) * draw.choice((1, 1, -1)) + draw.randrange(3)
            most = np.iinfo(flat[field].dtype).max
            flat[field][draw.randrange(len(flat))] = max(min(number, most), -most if most > 255 else 0)
        file = io.BytesIO()
        np.savez(file, **arrays)
        return file.getvalue()

    def look(self, data: bytes) -> Found:
        self._place.write_bytes(data)
        message = self._said()
        if message is None:
            raise ArchiveError("it does not count")
        if message != self._index:
            raise WrongError(f"an index that is damaged is believed: {message}")
        return Found("read", message)

    def _said(self) -> str | None:
        """All of an index that counts, as text."""
        with np.printoptions(threshold=1 << 20):
            index = cached_index(self._log)
            return None if index is None else _text(index)


def _text(index: FileIndex) -> str:
    parts = []
    for part in index.parts:
        columns = {name: (vars(column) | {"begins": column.begins.tolist()}) for name, column in part.columns.items()}
        blocks = [(each.table.tolist(), each.count, each.stop) for each in (part.samples, part.logged)]
        parts.append((part.stream, part.type, part.has_meta, columns, blocks))
    return repr((parts, index.is_settings, index.issues))
