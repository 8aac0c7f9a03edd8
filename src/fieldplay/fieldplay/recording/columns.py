"""Records of a topic, span by span, as one table of columns."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldplay.messages import records
from fieldplay.messages.records import Record

Columns = dict[str, NDArray[Any]]


def columns_of_records(rows: Sequence[Record]) -> Columns:
    """All rows, in the order in which they leave: a column for each field, with its unit in its name.

    `stamp_ns` are the times in the messages, `leaves_ns` those at which they leave, or were logged. What a part of the
    records lacks is NaN there. Transforms and states of parts of a robot have a row each.
    """
    parts = [_columns(record) for record in rows if len(record)]
    if not parts:
        return {"stamp_ns": np.zeros(0, np.int64), "leaves_ns": np.zeros(0, np.int64)}
    parts = _with_names_of_all(parts)
    names = dict.fromkeys(name for part in parts for name in part if name != "names")
    joined = {name: _join([(part.get(name), len(part["stamp_ns"])) for part in parts]) for name in names}
    order = np.argsort(joined["leaves_ns"], kind="stable")
    columns = {name: column[order] for name, column in joined.items()}
    return columns if "names" not in parts[0] else {**columns, "names": parts[0]["names"]}


def _columns(record: Record) -> Columns:
    times = {"stamp_ns": record.stamp_ns, "leaves_ns": record.leaves_ns}
    for kind, make in LONG.items():
        if isinstance(record, kind):
            return make(record, times)
    own = {field.name: getattr(record, field.name) for field in fields(record)}
    columns = {name: value for name, value in own.items() if isinstance(value, np.ndarray) and name not in HIDDEN}
    if isinstance(record, records.Joints):
        columns["names"] = np.array(record.names)
    return {**times, **columns}


def _of_transforms(record: records.Transforms, times: Columns) -> Columns:
    known = np.ones((len(record), len(record.children)), bool) if record.known is None else record.known
    rows, edges = np.nonzero(known)
    return {
        **{name: column[rows] for name, column in times.items()},
        "parent": np.array(record.parents)[edges],
        "child": np.array(record.children)[edges],
        "translation_m": record.translation_m[rows, edges],
        "rotation_xyzw": record.rotation_xyzw[rows, edges],
    }


def _of_files(record: records.Images | records.Clouds, times: Columns) -> Columns:
    """Pictures and clouds are read one by one: here only the files they come from."""
    return {**times, "name": np.array(record.names)}


def _of_paths(record: records.Paths, times: Columns) -> Columns:
    poses = [record.paths[index] for index in record.path_index.tolist()]
    columns: Columns = {**times, "count": record.count}
    for name in ("position_m", "orientation_xyzw"):
        column = np.empty(len(record), object)
        for row, (pose, count) in enumerate(zip(poses, record.count.tolist(), strict=True)):
            column[row] = getattr(pose, name)[:count]
        columns[name] = column
    return columns


def _of_states(record: records.Diagnostics, times: Columns) -> Columns:
    states = [(row, state) for row, index in enumerate(record.state_index.tolist()) for state in record.states[index]]
    rows = np.array([row for row, _ in states], np.intp)
    return {
        **{name: column[rows] for name, column in times.items()},
        "name": np.array([state.name for _, state in states], object),
        "level": np.array([state.level for _, state in states], np.int64),
        "message": np.array([state.message for _, state in states], object),
        "values": _objects([dict(state.values) for _, state in states]),
    }


def _objects(values: Sequence[object]) -> NDArray[Any]:
    column = np.empty(len(values), object)
    column[:] = values
    return column


HIDDEN = {"order_ns", "path_index", "state_index"}
LONG: Mapping[type[Record], Callable[[Any, Columns], Columns]] = {
    records.Transforms: _of_transforms,
    records.Images: _of_files,
    records.Clouds: _of_files,
    records.Paths: _of_paths,
    records.Diagnostics: _of_states,
}


def _with_names_of_all(parts: list[Columns]) -> list[Columns]:
    """The columns of joints, brought to the names of all parts."""
    if not all("names" in part for part in parts):
        return parts
    names = list(dict.fromkeys(name for part in parts for name in part["names"].tolist()))
    if all(part["names"].tolist() == names for part in parts):
        return parts
    widened = []
    for part in parts:
        columns = [names.index(name) for name in part["names"].tolist()]
        wide: Columns = {}
        for name, column in part.items():
            if column.ndim == 2:
                wide[name] = np.full((len(column), len(names)), np.nan)
                wide[name][:, columns] = column
        widened.append({**part, **wide, "names": np.array(names)})
    return widened


def _join(parts: Sequence[tuple[NDArray[Any] | None, int]]) -> NDArray[Any]:
    """Concatenate a column of all parts, padded with NaN, or with 0 for integers."""
    there = [column for column, _ in parts if column is not None]
    first = there[0]
    inner = tuple(max(sides) for sides in zip(*(column.shape[1:] for column in there), strict=True))
    if len(there) == len(parts) and all(column.shape[1:] == inner for column in there):
        return np.concatenate(there)
    filled = []
    for column, count in parts:
        whole = np.full((count, *inner), np.nan if first.dtype.kind == "f" else 0, first.dtype)
        if column is not None:
            window = (slice(None), *(slice(side) for side in column.shape[1:]))
            whole[window] = column
        filled.append(whole)
    return np.concatenate(filled)
