"""YAML that others wrote, read within limits: no text of it ends the program, fills the memory or lasts for ever."""

from collections.abc import Iterator
from typing import Any

import yaml

LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
DEEPEST = 100  # values within values; libyaml's composer ends the process at some tens of thousands
MOST_VALUES = 1 << 20  # what an alias repeats is counted each time
SURELY_SHALLOW = 4000  # brackets, and signs of a line: texts with fewer are not looked through
ERRORS = (ValueError, TypeError, AttributeError, LookupError, OverflowError, RecursionError)  # of values that are none


def value_of_yaml(text: str | bytes) -> Any:
    """The contents of a text; all errors are yaml.YAMLError."""
    try:
        require_shallow(text)
        loader = LOADER(text)
        try:
            node = loader.get_single_node()
            if node is None:
                return None
            has_names = "&" in text if isinstance(text, str) else b"&" in text
            if has_names:  # else there is no alias either
                require_small(node)
            return loader.construct_document(node)
        finally:
            loader.dispose()
    except ERRORS as error:
        raise yaml.YAMLError(f"a value that is none of its type: {error}") from None


def require_small(node: yaml.Node) -> None:
    """yaml.YAMLError where a document would have too many values, each alias counted as what it repeats."""
    sizes: dict[int, int] = {}
    waiting = [node]
    while waiting:
        inner = list(_inner(waiting[-1]))
        left = [each for each in inner if id(each) not in sizes]
        if left and id(waiting[-1]) not in sizes:
            sizes[id(waiting[-1])] = 0  # while what is in it is counted: it may hold itself
            waiting += left
            continue
        own = waiting.pop()
        sizes[id(own)] = 1 + sum(sizes.get(id(each), 0) for each in inner)
    if sizes[id(node)] > MOST_VALUES:
        raise yaml.YAMLError(f"expected at most {MOST_VALUES} values, got {sizes[id(node)]:.3g} by aliases")


def _inner(node: yaml.Node) -> Iterator[yaml.Node]:
    """The values directly in one."""
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            yield key
            yield value
    elif isinstance(node, yaml.SequenceNode):
        yield from node.value


def require_shallow(text: str | bytes, *, sure: int = SURELY_SHALLOW) -> None:
    """Raise yaml.YAMLError where values are nested too deeply; texts with few brackets are not looked through."""
    if isinstance(text, str):
        bracket_count = text.count("[") + text.count("{") + max(map(len, text.splitlines()), default=0)
    else:
        bracket_count = text.count(b"[") + text.count(b"{") + max(map(len, text.splitlines()), default=0)
    if bracket_count <= sure:
        return
    depth = 0
    for event in yaml.parse(text, LOADER):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > DEEPEST:
            raise yaml.YAMLError(f"expected at most {DEEPEST} values in each other, got some that are nested too deep")
