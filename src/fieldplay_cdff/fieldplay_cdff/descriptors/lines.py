"""YAML that knows its lines, so that what is wrong in it can be named with its place."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import yaml

from fieldplay.core.errors import (
    ArchiveError,
    Defect,
    Report,
    nearest,
)
from fieldplay.core.yaml_safe import (
    DEEPEST,
    FAULTS,
    require_shallow,
    require_small,
)

TAB_WIDTH = 8
Fields = Mapping[str, "YamlValue"]


class YamlValue(NamedTuple):
    """Something in a YAML file, and the reader that knows the file."""

    node: yaml.Node
    reader: "YamlReader"

    @property
    def line(self) -> int:
        return int(self.node.start_mark.line) + 1

    def text(self, what: str) -> str:
        """A single value as text; reported and empty where there is something else."""
        if isinstance(self.node, yaml.ScalarNode):
            is_nothing = self.node.tag == "tag:yaml.org,2002:null"
            return "" if is_nothing else " ".join(str(self.node.value).split())
        self.reader.complain(self.line, "wrong_form", f"expected {what} as a text, got {self.form}")
        return ""

    def items(self, what: str) -> list["YamlValue"]:
        """The items of a list; nothing counts as an empty one."""
        if isinstance(self.node, yaml.SequenceNode):
            return [YamlValue(node, self.reader) for node in self.node.value]
        if not self.is_nothing:
            self.reader.complain(self.line, "wrong_form", f"expected {what} as a list, got {self.form}")
        return []

    def fields(
        self, what: str, known: Sequence[str], mandatory: Collection[str] = (), *, further: Collection[str] = ()
    ) -> Fields:
        """The fields of a map by their names; those that are not known, missing or there twice are reported.

        `further` ones are taken too, but are not what others should have written.
        """
        if not isinstance(self.node, yaml.MappingNode):
            expected = f"expected {what} with {_listed(known)}"
            self.reader.complain(self.line, "wrong_form", f"{expected}, got {self.form}")
            return {}
        found: dict[str, YamlValue] = {}
        for name, line, value in self._pairs():
            usual = name if name in further else self._usual_name(name, line, what, known=known)
            if usual in found:
                self.reader.complain(line, "double_field", f"{what} has two fields {usual}; the first counts")
            elif usual:
                found[usual] = value
        for name in mandatory:
            if name not in found or found[name].is_nothing:
                self.reader.complain(self.line, "missing_field", f"{what} has no {name}, which it must have")
        return found

    def plain(self) -> Any:
        """All of it as Python's own values."""
        try:
            return yaml.constructor.SafeConstructor().construct_document(self.node)
        except (yaml.YAMLError, *FAULTS) as error:
            told = " ".join(str(error).split())
            self.reader.complain(self.line, "wrong_form", f"expected values, got one that is none of its type: {told}")
            return None

    def _pairs(self) -> Iterator[tuple[str, int, "YamlValue"]]:
        """Names of fields, their lines and values."""
        for key, node in self.node.value:
            name = str(key.value) if isinstance(key, yaml.ScalarNode) else "of many parts"
            yield name, int(key.start_mark.line) + 1, YamlValue(node, self.reader)

    def _usual_name(self, name: str, line: int, what: str, *, known: Sequence[str]) -> str:
        """The field that is meant; "" for none."""
        if name in known:
            return name
        meant = nearest(name, known)
        unknown = f"{what} has a field '{name}', expected {_listed(known)}"
        self.reader.complain(line, "unknown_field", unknown + (f"; taken as {meant}" if meant else ""))
        return meant

    @property
    def is_map(self) -> bool:
        return isinstance(self.node, yaml.MappingNode)

    def has(self, *names: str) -> bool:
        """Whether it is a map with one of these fields."""
        return self.is_map and any(name in names for name, _, _ in self._pairs())

    @property
    def is_nothing(self) -> bool:
        return isinstance(self.node, yaml.ScalarNode) and self.node.tag == "tag:yaml.org,2002:null"

    @property
    def form(self) -> str:
        """What it is, for a message."""
        if isinstance(self.node, yaml.MappingNode):
            return "a map"
        if isinstance(self.node, yaml.SequenceNode):
            return "a list"
        return f"'{self.node.value}'" if self.node.value else "nothing"


class YamlReader:
    """The content of a file, and who hears what is wrong in it."""

    def __init__(self, file: str, text: str, report: Report) -> None:
        self.file, self._text, self._report = file, text, report

    def complain(self, line: int, kind: str, message: str) -> None:
        self._report(Defect(file=self.file, row=line, kind=kind, message=message))

    def content(self) -> YamlValue:
        """The whole, with tabs as spaces where YAML does not allow tabs; ArchiveError where all fails."""
        try:
            node = self._composed(self._text)
        except yaml.MarkedYAMLError as error:
            rows = [row for row, line in enumerate(self._text.splitlines(), 1) if "\t" in _indent(line)]
            if not rows:
                raise ArchiveError(self._told(error)) from None
            for row in rows:
                self.complain(row, "tab", "a tab stands before the text, where YAML allows spaces alone; taken as such")
            node = self._composed_without_tabs()
        except yaml.YAMLError as error:
            raise ArchiveError(f"{self.file}: expected YAML: {error}") from None
        if node is None:
            raise ArchiveError(f"{self.file}: expected a description, got an empty file")
        try:
            require_small(node)
        except yaml.YAMLError as error:
            raise ArchiveError(f"{self.file}: {error}") from None
        return YamlValue(node, self)

    def _composed_without_tabs(self) -> yaml.Node | None:
        try:
            return self._composed(self._text.expandtabs(TAB_WIDTH))
        except yaml.MarkedYAMLError as error:
            raise ArchiveError(self._told(error)) from None

    def _composed(self, text: str) -> yaml.Node | None:
        with suppress(yaml.MarkedYAMLError):  # which is told below, by the parser that knows more of it
            require_shallow(text, sure=DEEPEST)
        try:
            node: yaml.Node | None = yaml.compose(text, yaml.SafeLoader)
        except RecursionError:
            raise ArchiveError(f"{self.file}: expected a description, got one that is nested too deep") from None
        return node

    def _told(self, error: yaml.MarkedYAMLError) -> str:
        mark = error.problem_mark or error.context_mark
        place = f"{self.file}:{mark.line + 1}" if mark else self.file
        return f"{place}: expected YAML: {error.problem or error.context}"


def text_of(fields: Fields, name: str) -> str:
    """A field as text, empty where there is none."""
    return fields[name].text(f"the {name}") if name in fields else ""


def items_of(fields: Fields, name: str) -> list[YamlValue]:
    """The items of a field that is a list, none where there is no such field."""
    return fields[name].items(name) if name in fields else []


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def _listed(names: Sequence[str]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else "".join(names)
