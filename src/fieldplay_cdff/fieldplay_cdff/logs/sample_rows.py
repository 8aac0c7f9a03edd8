"""Samples as columns: fields by their names in all spellings, vectors in the forms of Rock and of the framework."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldplay.core.errors import ArchiveError
from fieldplay_cdff.logs.msgpack_decode import (
    Bytes,
    Number,
    TemplateMatch,
    column,
    plain_from_bytes,
    plain_name,
)

Floats = NDArray[np.float64]

DATA, ARRAY, IMAGINARY, REAL = "data", "arr", "im", "re"  # what Rock puts vectors and quaternions into
MISSING = object()


@lru_cache(maxsize=4096)
def _actual_names(names: tuple[str, ...]) -> dict[str, str]:
    return {plain_name(name): name for name in names}


def field(sample: Any, *names: str, default: Any = None) -> Any:
    """A field by the first of its plain names (`framemode`) that a sample has; `metadata.mode` is within another."""
    for name in names:
        value = sample
        for part in name.split("."):
            if not isinstance(value, dict):
                value = MISSING
                break
            actual = _actual_names(tuple(value)).get(part)
            value = MISSING if actual is None else value[actual]
        if value is not MISSING:
            return value
    return default


def flat(value: Any, length: int) -> Floats:
    """A vector, matrix or quaternion (length,) in whatever form; NaN where there is none, ValueError for others."""
    if isinstance(value, dict):
        value = _unwrap(value)
    if value is MISSING:
        return np.full(length, np.nan)
    if value is None or isinstance(value, str | bytes | bool):
        raise ValueError(f"{length} numbers, got {type(value).__name__}")
    try:
        numbers = np.asarray(value, np.float64).reshape(-1)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{length} numbers, got other things") from None
    if not len(numbers):
        return np.full(length, np.nan)
    if len(numbers) != length:
        raise ValueError(f"{length} numbers, got {len(numbers)}")
    return numbers


def _unwrap(value: dict[str, Any]) -> Any:
    if IMAGINARY in value and REAL in value:
        inner = _unwrap(value[IMAGINARY]) if isinstance(value[IMAGINARY], dict) else value[IMAGINARY]
        return [*inner, value[REAL]] if isinstance(inner, list | tuple) else "text"
    for name in (DATA, ARRAY):
        if name in value:
            return value[name]
    return MISSING if not value else "text"


def no_numbers(values: Floats) -> NDArray[np.bool_]:
    """Which rows (n,) of (n, k) hold NaN or infinity."""
    return np.asarray(~np.isfinite(values).all(axis=1), bool)


class SampleRows:
    """Samples (n,) and the issues of some of them, the first of each; `notes` are remarks on them.

    A sample that cannot be read is replaced by its error.
    """

    def __init__(self, samples: Sequence[Any]) -> None:
        self.samples: Sequence[Any] = samples
        self.issues: dict[int, str] = {}
        self.notes: set[str] = set()
        for row, sample in enumerate(samples):
            if isinstance(sample, ArchiveError):
                self.issues[row] = str(sample)
            elif not isinstance(sample, dict):
                self.issues[row] = f"expected a sample with fields, got {type(sample).__name__}"

    def __len__(self) -> int:
        return len(self.samples)

    @property
    def good(self) -> NDArray[np.bool_]:
        """Which rows (n,) have no issue."""
        good = np.ones(len(self), bool)
        good[list(self.issues)] = False
        return good

    def report_issue(self, rows: NDArray[np.bool_], message: str) -> None:
        """Report an issue of some rows (n,)."""
        for row in np.flatnonzero(rows).tolist():
            self.issues.setdefault(row, message)

    def values(self, *names: str) -> list[Any]:
        """A field of all samples; None where one lacks it."""
        return self._fields(*names)

    def _fields(self, *names: str, default: Any = None) -> list[Any]:
        return [field(sample, *names, default=default) for sample in self.samples]

    def vectors(self, length: int, *names: str) -> Floats:
        """Numbers (n, length) of a field, NaN where there are none."""
        values = self._fields(*names, default=MISSING)
        if values and (isinstance(values[0], list) or (length == 1 and set(map(type, values)) <= {int, float})):
            try:
                quick = np.array(values, np.float64)
            except (TypeError, ValueError, OverflowError):
                quick = np.zeros(0)
            if quick.size == len(values) * length and quick.dtype == np.float64:
                return quick.reshape(len(values), length)
        result = np.full((len(values), length), np.nan)
        for row, value in enumerate(values):
            try:
                result[row] = flat(value, length)
            except ValueError as error:
                self.issues.setdefault(row, f"{names[0]}: expected {error}")
        return result

    def numbers(self, *names: str) -> Floats:
        """A number (n,) of each sample, NaN where there is none."""
        return self.vectors(1, *names)[:, 0]

    def has_parts(self, *names: str) -> NDArray[np.bool_]:
        """Return whether a quaternion (n,) shows by itself which of its numbers is the real part."""
        return np.array([isinstance(value, dict) and REAL in value for value in self.values(*names)], bool)


class TreeRows(SampleRows):
    """Samples that are alike but for their numbers: `tree` is what all are, with Number where their numbers are."""

    def __init__(self, samples: Sequence[Any], tree: Any) -> None:
        self.samples = samples  # none of them is looked at
        self.tree = tree
        self.issues, self.notes = {}, set()
        if not isinstance(tree, dict):
            self.issues = dict.fromkeys(range(len(self)), "expected a sample with fields, got another thing")

    def bytes_of(self, number: Number) -> Bytes:
        """The rows of bytes (n, size) that hold a number."""
        raise NotImplementedError

    def node(self, *names: str, default: Any = None) -> Any:
        """A field of the tree."""
        return field(self.tree, *names, default=default)

    def vectors(self, length: int, *names: str) -> Floats:
        leaves = self._leaf_numbers(self.node(*names, default=MISSING))
        if leaves is None:
            return super().vectors(length, *names)
        if not leaves:
            return np.full((len(self), length), np.nan)
        if len(leaves) != length:
            self.report_issue(np.ones(len(self), bool), f"{names[0]}: expected {length} numbers, got {len(leaves)}")
            return np.full((len(self), length), np.nan)
        result = np.empty((len(self), length))
        for index, leaf in enumerate(leaves):
            result[:, index] = self.numbers_at(leaf)
        return result

    def numbers_at(self, leaf: Any) -> Any:
        """The numbers (n,) of a leaf, or the one of all rows."""
        return column(self.bytes_of(leaf), leaf) if isinstance(leaf, Number) else leaf

    def _leaf_numbers(self, node: Any) -> list[Any] | None:
        """Return the numbers of a vector, matrix or quaternion in order; None where the value is something else."""
        node = _unwrap(node) if isinstance(node, dict) else node
        if node is MISSING:
            return []
        if isinstance(node, Number) or (isinstance(node, int) and not isinstance(node, bool)):
            return [node]
        if not isinstance(node, list):
            return None
        parts = [self._leaf_numbers(item) if item is not None else None for item in node]
        return None if any(part is None for part in parts) else [leaf for part in parts if part for leaf in part]

    def values(self, *names: str) -> list[Any]:
        node = self.node(*names)
        if _is_constant(node):
            return [node] * len(self)
        matrix = self._matrix(node) if isinstance(node, list) else None
        return super().values(*names) if matrix is None else list(matrix)

    def _matrix(self, leaves: list[Any]) -> NDArray[np.generic] | None:
        """The numbers (n, k) of a list of numbers of one kind; None where it is another list."""
        if not leaves or not isinstance(leaves[0], Number):
            return None
        kind = leaves[0].kind
        if not all(isinstance(leaf, Number) and leaf.kind == kind for leaf in leaves):
            return None
        offsets = np.array([leaf.offset for leaf in leaves])[:, None] + np.arange(np.dtype(kind).itemsize)
        packed = np.take(self.bytes_of(leaves[0]), offsets.reshape(-1), axis=1)
        return packed.view(kind).astype(np.dtype(kind).newbyteorder("="))

    def has_parts(self, *names: str) -> NDArray[np.bool_]:
        node = self.node(*names)
        return np.full(len(self), isinstance(node, dict) and REAL in node)


class TemplateRows(TreeRows):
    """Contiguous samples, each with the same bytes but for its numbers."""

    def __init__(self, alike: TemplateMatch) -> None:
        super().__init__(_Unpacked(alike), alike.template.tree)
        self._rows = alike.rows

    def bytes_of(self, number: Number) -> Bytes:
        return self._rows


class _Unpacked(Sequence[Any]):
    """The samples one by one, each unpacked on demand."""

    def __init__(self, alike: TemplateMatch) -> None:
        self._alike = alike

    def __len__(self) -> int:
        return len(self._alike.rows)

    def __getitem__(self, row: Any) -> Any:
        return plain_from_bytes(self._alike.rows[row].tobytes())


def _is_constant(node: Any) -> bool:
    if isinstance(node, list):
        return all(map(_is_constant, node))
    return node is None or isinstance(node, str | bool | int)
