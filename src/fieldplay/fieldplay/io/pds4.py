"""Labels of PDS4, the Planetary Data System's archives: what an XML file says of the data files beside it.

They are XML from strangers. Expat expands entities and reads document types only if a document has a DOCTYPE: such a
document is refused where that starts, before anything in it is processed. The rest is linear in the size of the file.
"""

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from xml.parsers import expat

from fieldplay.core.errors import ArchiveError

LARGEST = 1 << 24  # bytes
DEEPEST = 100
PARTED = " "  # what expat puts between a namespace and a name
DELIMITERS = {"Comma": ",", "Horizontal Tab": "\t", "Semicolon": ";", "Vertical Bar": "|"}
LINE_ENDS = {"Carriage-Return Line-Feed": b"\r\n", "Line-Feed": b"\n"}


@dataclass
class Element:
    """An element by its name without namespace, with its own text, the line it begins in, and the elements in it."""

    name: str
    line: int
    text: str = ""
    children: list["Element"] = field(default_factory=list)

    def all(self, name: str) -> Iterator["Element"]:
        """The elements of a name at any depth below, in the order of the file."""
        for child in self.children:
            if child.name == name:
                yield child
            yield from child.all(name)

    def first(self, name: str) -> "Element | None":
        """The first element of a name at any depth below."""
        return next(self.all(name), None)

    def value(self, name: str) -> str:
        """The text of the first element of a name at any depth below, or nothing."""
        element = self.first(name)
        return "" if element is None else element.text.strip()


def tree_from_xml(data: bytes) -> Element:
    """The root element of a document; ArchiveError if it is none, or one that is refused.

    A document that says or means UTF-8 and has other bytes is read as Latin-1, as some old tools write.
    """
    if len(data) > LARGEST:
        raise ArchiveError(f"expected an XML file of at most {LARGEST} bytes, got {len(data)}")
    try:
        return _parse(data, None)
    except ArchiveError:
        if _is_utf_8(data):
            raise
        return _parse(data, "iso-8859-1")


def _is_utf_8(data: bytes) -> bool:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _parse(data: bytes, encoding: str | None) -> Element:
    parser = expat.ParserCreate(encoding, PARTED)
    parser.buffer_text = True
    root = Element("", 0)
    opened = [root]

    def refuse(*_: object) -> None:
        raise ArchiveError(f"line {parser.CurrentLineNumber}: expected no DOCTYPE, got one: such files are refused")

    def start(name: str, _: dict[str, str]) -> None:
        if len(opened) > DEEPEST:
            raise ArchiveError(f"line {parser.CurrentLineNumber}: expected at most {DEEPEST} elements in each other")
        element = Element(name.rpartition(PARTED)[2], parser.CurrentLineNumber)
        opened[-1].children.append(element)
        opened.append(element)

    def text(part: str) -> None:
        opened[-1].text += part

    parser.StartDoctypeDeclHandler = refuse
    parser.StartElementHandler = start
    parser.EndElementHandler = lambda _: opened.pop()
    parser.CharacterDataHandler = text
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        raise ArchiveError(f"expected XML: {error}") from None
    except (LookupError, ValueError) as error:  # an encoding that Python does not know
        raise ArchiveError(f"expected XML in a known encoding: {error}") from None
    return root.children[0]


@dataclass(frozen=True, kw_only=True)
class LabelledField:
    """A column of a delimited table; `special` are the numbers that stand for none."""

    name: str
    data_type: str = ""
    unit: str = ""
    special: tuple[float, ...] = ()


@dataclass(frozen=True, kw_only=True)
class LabelledTable:
    """A delimited table in a data file: where it begins in bytes, how many rows, how they are written."""

    offset: int | None = None
    records: int | None = None
    delimiter: str = ""
    line_end: bytes = b""
    fields: tuple[LabelledField, ...] = ()
    groups: int = 0
    stated_fields: int | None = None  # how many the label says there are


@dataclass(frozen=True, kw_only=True)
class LabelledFile:
    """A data file that a label describes, in the label's folder; `line` is where the label names it."""

    name: str
    line: int | None = None
    size: int | None = None
    header_bytes: int | None = None
    table: LabelledTable | None = None


@dataclass(frozen=True, kw_only=True)
class Label:
    """What a label says: the class of its product, its identifier, its files; and any other text by its tag."""

    product_class: str
    lid: str
    version: str
    files: tuple[LabelledFile, ...]
    texts: Mapping[str, str] = field(default_factory=dict)

    def file(self, name: str) -> LabelledFile | None:
        """The description of a file by its name without folders, whatever the case."""
        return next((file for file in self.files if re.split(r"[/\\]", file.name)[-1].lower() == name.lower()), None)


def label_from_xml(data: bytes) -> Label:
    """The label in an XML file; ArchiveError if it is none of PDS4."""
    root = tree_from_xml(data)
    if not root.name.startswith("Product_"):
        raise ArchiveError(f"expected a label of PDS4, whose root is Product_..., got <{root.name[:40]}>")
    return Label(
        product_class=root.name,
        lid=root.value("logical_identifier"),
        version=root.value("version_id"),
        files=tuple(_files(root)),
        texts=_texts(root),
    )


def _texts(root: Element) -> dict[str, str]:
    """The first text of each tag outside the file areas."""
    texts: dict[str, str] = {}
    waiting = list(reversed(root.children))
    while waiting:
        element = waiting.pop()
        if element.name.startswith("File_Area"):
            continue
        if not element.children and element.text.strip():
            texts.setdefault(element.name, element.text.strip())
        waiting += reversed(element.children)
    return texts


def _files(root: Element) -> Iterator[LabelledFile]:
    for area in root.children:
        if not area.name.startswith("File_Area") or not area.value("file_name"):
            continue
        header, table, file = area.first("Header"), area.first("Table_Delimited"), area.first("File")
        yield LabelledFile(
            name=area.value("file_name"),
            line=next(area.all("file_name")).line,
            size=None if file is None else _whole(file.value("file_size")),
            header_bytes=None if header is None else _whole(header.value("object_length")),
            table=None if table is None else _table(table),
        )


def _table(table: Element) -> LabelledTable:
    own = {child.name: child.text.strip() for child in table.children}
    record = table.first("Record_Delimited")
    return LabelledTable(
        offset=_whole(own.get("offset", "")),
        records=_whole(own.get("records", "")),
        delimiter=DELIMITERS.get(own.get("field_delimiter", ""), ""),
        line_end=LINE_ENDS.get(own.get("record_delimiter", ""), b""),
        fields=() if record is None else tuple(map(_field, record.all("Field_Delimited"))),
        groups=0 if record is None else len(list(record.all("Group_Field_Delimited"))),
        stated_fields=None if record is None else _whole(record.value("fields")),
    )


def _field(element: Element) -> LabelledField:
    constants = element.first("Special_Constants")
    return LabelledField(
        name=element.value("name"),
        data_type=element.value("data_type"),
        unit=element.value("unit"),
        special=() if constants is None else tuple(_numbers(constants)),
    )


def _numbers(constants: Element) -> Iterator[float]:
    for constant in constants.children:
        with suppress(ValueError):
            yield float(constant.text)


def _whole(text: str) -> int | None:
    """A number of bytes or rows, None where there is none."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 16 else None
