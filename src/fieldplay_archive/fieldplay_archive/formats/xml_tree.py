"""XML from strangers as a tree: no document types, no entities, nothing that is fetched, and no more than fits.

Expat expands entities and reads document types only if a document has a DOCTYPE: such a document is refused where that
begins, before anything in it is heard. What is left is linear in the size of the file.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from xml.parsers import expat

from fieldplay_messages.errors import ArchiveError

LARGEST = 1 << 24  # bytes
DEEPEST = 100
PARTED = " "  # what expat puts between a namespace and a name


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
        found = self.first(name)
        return "" if found is None else found.text.strip()


def tree_from_xml(data: bytes) -> Element:
    """The root element of a document; ArchiveError if it is none, or one that is refused.

    A document that says or means UTF-8 and has other bytes is read as Latin-1, as some old tools write.
    """
    if len(data) > LARGEST:
        raise ArchiveError(f"expected an XML file of at most {LARGEST} bytes, got {len(data)}")
    try:
        return _parsed(data, None)
    except ArchiveError:
        if _is_utf_8(data):
            raise
        return _parsed(data, "iso-8859-1")


def _is_utf_8(data: bytes) -> bool:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _parsed(data: bytes, encoding: str | None) -> Element:
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
