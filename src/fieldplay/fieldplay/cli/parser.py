"""How a command line is read: options between positional arguments, several values to an option, errors in one line."""

import argparse
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

AFTER_OPTIONS = "--"
FINISH = "finish"  # the default of a parser that does with what was read what argparse cannot


class _ParseError(Exception):
    """An attempt to parse the arguments that failed; with its error message."""


class CommandHelp(argparse.RawDescriptionHelpFormatter):
    """Help with the defaults of options."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=30)

    def _get_help_string(self, action: argparse.Action) -> str:
        text, default = action.help or "", action.default
        is_plain = isinstance(default, str | int | float) and not isinstance(default, bool) and default != ""
        is_value = bool(action.option_strings) and action.nargs != 0 and default != argparse.SUPPRESS
        return f"{text} (default: %(default)s)" if is_plain and is_value and "default" not in text else text


class CommandParser(argparse.ArgumentParser):
    """An ArgumentParser that takes options anywhere, groups them in its help, and reports errors in one line.

    `several` marks an option of which one value, or more, may follow: the last of them may be positional arguments,
    and are if these would be missing otherwise.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        self._sections: dict[str, argparse._ArgumentGroup] = {}
        self._section = ""
        super().__init__(*args, **{"allow_abbrev": False, "formatter_class": CommandHelp, **options})
        self._several: set[str] = set()
        self._is_trial = self._is_inner = False

    @contextmanager
    def section(self, title: str) -> Iterator[argparse._ArgumentGroup]:
        """List the options that are added meanwhile below a title."""
        before, self._section = self._section, title
        if title not in self._sections:
            self._sections[title] = self.add_argument_group(title)
        yield self._sections[title]
        self._section = before

    def add_argument(self, *names: str, **options: Any) -> argparse.Action:
        """Add an argument, an option to the section that is open."""
        if self._section and names and names[0].startswith("-"):
            return self._sections[self._section].add_argument(*names, **options)
        return super().add_argument(*names, **options)

    def format_usage(self) -> str:
        """Return the usage in a line: required and positional arguments."""
        self._shorten_usage()
        return super().format_usage()

    def format_help(self) -> str:
        """Return the help."""
        self._shorten_usage()
        return super().format_help()

    def _shorten_usage(self) -> None:
        if self.usage is not None or self._subparsers is not None:
            return
        formatter = self._get_formatter()
        words = ["%(prog)s", "[OPTIONS]"]
        for action in (*self._get_optional_actions(), *self._get_positional_actions()):
            if not action.option_strings:
                words.append(formatter._format_args(action, action.metavar or action.dest))  # type: ignore[arg-type]
            elif action.required:
                words += [action.option_strings[-1], formatter._format_args(action, action.dest.upper())]
        self.usage = " ".join(words)

    def several(self, *names: str, **options: Any) -> None:
        """Add an option that takes one value or more."""
        self._several.update(names)
        self.add_argument(*names, action="append", default=[], **options)

    def error(self, message: str) -> NoReturn:
        """Say what is wrong in one line, and exit with 2."""
        if self._is_trial:
            raise _ParseError(message)
        self.exit(2, f"{self.prog}: error: {message} (see '{self.prog} --help')\n")

    def parse_known_args(  # type: ignore[override]
        self, args: Any = None, namespace: Any = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """Read the words of this command; those of a command below it are that one's."""
        if args is None or self._is_inner or self._subparsers is not None:
            return super().parse_known_args(args, namespace)
        arguments, first = list(args), ""
        for returned_count in range(self._max_returned(arguments) + 1):
            try:
                return self._parse(self._with_single_values(arguments, returned_count), namespace)
            except _ParseError as error:
                first = first or str(error)
        self.error(first)

    def _parse(self, arguments: list[str], namespace: Any) -> tuple[argparse.Namespace, list[str]]:
        """One reading of the words, positional arguments and options in any order."""
        self._is_trial = self._is_inner = True
        try:
            parsed, unknown = self.parse_known_intermixed_args(arguments, namespace)
            if unknown:
                self.error(f"unrecognized arguments: {' '.join(unknown)}")
            if hasattr(parsed, FINISH):
                getattr(parsed, FINISH)(parsed)
        finally:
            self._is_trial = self._is_inner = False
        return parsed, unknown

    def _groups(self, arguments: Sequence[str]) -> list[tuple[int, int]]:
        """Where the values of options that take several begin and end."""
        groups = []
        for index, argument in enumerate(arguments):
            if argument == AFTER_OPTIONS:
                break
            if argument in self._several:
                end = index + 1
                while end < len(arguments) and not arguments[end].startswith("-"):
                    end += 1
                groups.append((index + 1, end))
        return groups

    def _max_returned(self, arguments: Sequence[str]) -> int:
        return max((end - start - 1 for start, end in self._groups(arguments)), default=0)

    def _with_single_values(self, arguments: Sequence[str], returned_count: int) -> list[str]:
        """Each value of such an option with its name before it, but for the last ones of the last option."""
        changed = list(arguments)
        groups = self._groups(arguments)
        for number, (start, end) in enumerate(reversed(groups)):
            last = max(end - (returned_count if number == 0 else 0), start + 1)
            if end > start:
                name = arguments[start - 1]
                values = [part for argument in arguments[start:last] for part in (name, argument)]
                changed[start - 1 : end] = [*values, *arguments[last:end]]
        return changed
