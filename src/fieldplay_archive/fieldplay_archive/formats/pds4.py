"""Labels of PDS4, the Planetary Data System's archives: what an XML file says of the data files beside it."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from fieldplay_archive.formats.xml_tree import Element, tree_from_xml
from fieldplay_messages.errors import ArchiveError

DELIMITERS = {"Comma": ",", "Horizontal Tab": "\t", "Semicolon": ";", "Vertical Bar": "|"}
LINE_ENDS = {"Carriage-Return Line-Feed": b"\r\n", "Line-Feed": b"\n"}


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
    said_fields: int | None = None  # how many the label says there are


@dataclass(frozen=True, kw_only=True)
class LabelledFile:
    """A data file that a label describes, in the label's folder."""

    name: str
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
        """The description of a file, whatever the case of its name."""
        return next((file for file in self.files if file.name.lower() == name.lower()), None)


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
    found: dict[str, str] = {}
    waiting = list(reversed(root.children))
    while waiting:
        element = waiting.pop()
        if element.name.startswith("File_Area"):
            continue
        if not element.children and element.text.strip():
            found.setdefault(element.name, element.text.strip())
        waiting += reversed(element.children)
    return found


def _files(root: Element) -> Iterator[LabelledFile]:
    for area in root.children:
        if not area.name.startswith("File_Area") or not area.value("file_name"):
            continue
        header, table, file = area.first("Header"), area.first("Table_Delimited"), area.first("File")
        yield LabelledFile(
            name=area.value("file_name"),
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
        said_fields=None if record is None else _whole(record.value("fields")),
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
