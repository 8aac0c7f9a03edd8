"""The text of a table in blocks of whole lines, as far as the file can be read."""

from collections.abc import Iterator, Sequence
from io import BufferedReader
from typing import NamedTuple, Protocol

from fieldplay_archive.tables.number_rows import Dialect, NumberRows, count_of
from fieldplay_messages.errors import ArchiveError, Defect

BLOCK_SIZE = 1 << 19
HEAD_SIZE = 1 << 16
LONGEST_LINE = 1 << 20  # a file that is damaged, or no table at all, may have lines of any length


class RowsFormat(Protocol):
    """How one file writes its rows, and where they begin; see TableFormat."""

    @property
    def dialect(self) -> Dialect: ...
    @property
    def first_byte(self) -> int: ...
    @property
    def first_line(self) -> int: ...
    @property
    def mapping(self) -> str: ...
    def rows_of(self, blocks: Sequence[bytes]) -> list[NumberRows]: ...
    def cut_off(self, line: bytes, before: bytes) -> str | None: ...


class TextBlock(NamedTuple):
    """Whole lines: their place, the number of the first, and what is to be told before what is wrong with them."""

    offset: int
    first_line: int
    text: bytes
    told: tuple[Defect, ...]


class TableText:
    """The text of one file, read once from its beginning to its end."""

    def __init__(self, file: BufferedReader, name: str) -> None:
        self.told: list[Defect] = []  # behind the last block
        self._file = file
        self._name = name
        self._is_broken = False

    def head(self) -> bytes:
        """The beginning, whole lines if it is not all."""
        head = b""
        try:
            while len(head) < HEAD_SIZE and (part := self._file.read1(HEAD_SIZE - len(head))):
                head += part
        except (ArchiveError, OSError):
            if not head:
                raise
        return head if len(head) < HEAD_SIZE else head[: head.rfind(b"\n") + 1 or HEAD_SIZE]

    def blocks(self, form: RowsFormat) -> Iterator[TextBlock]:
        """The text behind the header, without a last line whose last number is cut, which is told."""
        before = b""
        for offset, line, text in self._texts(form):
            end = len(text) if text.endswith(b"\r") else text.rfind(b"\n") + 1
            fault = form.cut_off(text[end:], before + text[:end]) if end < len(text) else None
            if fault is not None:
                row = line + text.count(b"\n")
                self.told.append(Defect(file=self._name, row=row, kind="cut_off_line", message=fault))
            told, self.told = tuple(self.told), []
            yield TextBlock(offset, line, text if fault is None else text[:end], told)
            before = text

    def _texts(self, form: RowsFormat) -> Iterator[tuple[int, int, bytes]]:
        """The text in blocks of whole lines, with the place of each and the number of its first line."""
        offset, line, carried = form.first_byte, form.first_line, b""
        self._file.seek(offset)
        while True:
            chunk = self._chunk()
            text = carried + chunk
            end = text.rfind(b"\n") + 1 if chunk or self._is_broken else len(text)
            block = text[:end]
            if end:
                yield offset, line, block
            offset, line, carried = offset + end, line + count_of(block, b"\n"), text[end:]
            if not chunk:
                return
            if len(carried) > LONGEST_LINE:
                size, behind = self._pass_over_line(line, len(form.dialect.columns))
                offset, line, carried = offset + len(carried) + size, line + 1, behind

    def _chunk(self) -> bytes:
        """The next part of the file; nothing at its end, or where it cannot be read on, which is told."""
        chunk = b""
        try:
            while not self._is_broken and len(chunk) < BLOCK_SIZE and (part := self._file.read1(BLOCK_SIZE)):
                chunk += part
        except (ArchiveError, OSError) as error:
            self._is_broken = True
            message = f"{error}; the rows before it are read"
            self.told.append(Defect(file=self._name, kind="damaged_file", message=message))
        return chunk

    def _pass_over_line(self, line: int, columns: int) -> tuple[int, bytes]:
        """Tell of a line whose end is far, and read behind it: the bytes up to there, and what is read already."""
        message = f"expected {columns} columns, got a line of more than {LONGEST_LINE} bytes"
        self.told.append(Defect(file=self._name, row=line, kind="long_row", message=message))
        size = 0
        while chunk := self._chunk():
            end = chunk.find(b"\n") + 1
            if end:
                return size + end, chunk[end:]
            size += len(chunk)
        return size, b""
