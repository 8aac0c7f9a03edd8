"""Message definitions that a user hands over for types that a bag does not define: .msg files of packages."""

import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rosbags.interfaces import Nodetype
from rosbags.typesys import TypesysError, get_types_from_msg

from fieldplay.core.errors import UsageError

SUFFIX, FOLDER, PACKAGE = ".msg", "msg", "package.xml"


class MessageFiles:
    """The .msg files below a folder: of one package or several, as in a workspace, or without any package.

    The type of PACKAGE/msg/NAME.msg is PACKAGE/msg/NAME, where package.xml may tell another name of the package. A file
    that lies elsewhere is of any package: it defines the type that the bag has by its name.
    """

    def __init__(self, folder: Path) -> None:
        if not folder.is_dir():
            raise UsageError(f"--msgs: expected a folder of .msg files, got {folder}")
        self._by_type: dict[str, Path] = {}
        self._by_name: dict[str, Path] = {}
        for path in sorted(folder.rglob(f"*{SUFFIX}")):
            if path.parent.name == FOLDER:
                self._by_type.setdefault(f"{_package(path.parent.parent)}/{FOLDER}/{path.stem}", path)
            else:
                self._by_name.setdefault(path.stem, path)
        if not self._by_type and not self._by_name:
            raise UsageError(f"--msgs: expected .msg files in {folder}, got none")

    def definitions_of(self, msgtype: str) -> dict[str, Any]:
        """Return the fields of a type and of those in it, by their names, as far as files define them."""
        definitions: dict[str, Any] = {}
        waiting = [msgtype]
        while waiting:
            name = waiting.pop()
            path = self._by_type.get(name) or self._by_name.get(name.rpartition("/")[2])
            if path is None or name in definitions:
                continue
            try:
                definitions |= get_types_from_msg(path.read_text("utf-8"), name)
            except (TypesysError, OSError, UnicodeDecodeError) as error:
                raise UsageError(f"--msgs: {path}: expected a message definition: {error}") from None
            waiting += [inner for _, field in definitions[name][1] for inner in names_in(field)]
        return definitions


def _package(folder: Path) -> str:
    """The name of a package: what its package.xml says, else that of its folder."""
    try:
        name = ElementTree.parse(folder / PACKAGE).findtext("name")
    except (OSError, ElementTree.ParseError):
        name = None
    return (name or folder.resolve().name).strip()


def names_in(field: Any) -> Iterator[str]:
    """The message types that a field refers to."""
    kind, inner = field
    if kind == Nodetype.NAME:
        yield inner
    elif kind != Nodetype.BASE:
        yield from names_in(inner[0])
