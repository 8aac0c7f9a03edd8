"""The index of a store: a database (SQLite) of the products' records and positions, rebuilt if it does not fit."""

import json
import sqlite3
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import quote

from fieldplay.core.errors import UsageError
from fieldplay_cdff.products.product import (
    Product,
    ProductQuery,
    StoreError,
    product_of_text,
)

FILE = "index.sqlite"
VERSION = 2
PATIENCE_S = 20.0  # for another process that writes
ROWS = 200  # at once
MAX_FRAMES = 3  # in a message
UNKNOWN_WORLD = "an unknown origin"
CORNERS = ("x_min", "y_min", "z_min", "x_max", "y_max", "z_max")

# After a crash of the machine the index is rebuilt from the bags; a killed process damages nothing.
PRAGMAS = ("journal_mode = TRUNCATE", "synchronous = OFF", f"user_version = {VERSION}")
TABLES = (
    "CREATE TABLE IF NOT EXISTS parts(name TEXT PRIMARY KEY, size INTEGER NOT NULL, is_open INTEGER NOT NULL)",
    "CREATE TABLE IF NOT EXISTS forgotten(part TEXT NOT NULL, id INTEGER NOT NULL)",
    "CREATE TABLE IF NOT EXISTS products(id INTEGER PRIMARY KEY AUTOINCREMENT, part TEXT NOT NULL, "
    "places TEXT NOT NULL, kind TEXT NOT NULL, stamp_ns INTEGER NOT NULL, x_min REAL, y_min REAL, z_min REAL, "
    "x_max REAL, y_max REAL, z_max REAL, world TEXT NOT NULL, frame_key TEXT NOT NULL, record TEXT NOT NULL)",
    "CREATE INDEX IF NOT EXISTS by_stamp ON products(stamp_ns, id)",
    "CREATE INDEX IF NOT EXISTS by_part ON products(part)",
)
Location = tuple[int, int]  # the block of a message in its bag, and its start offset there


class ProductIndexError(StoreError):
    """An unusable index: damaged, or of another version."""


@dataclass(frozen=True, kw_only=True)
class IndexedProduct:
    """A product, the part that holds it, and where each of its messages lies there."""

    product: Product
    part: str
    locations: tuple[Location, ...]


@dataclass(frozen=True, kw_only=True)
class KnownPart:
    """A part as the index knows it: so many bytes, and whether it was being written then."""

    size: int
    is_open: bool


class ProductIndex:
    """The database. `path` is its file, or None for one in memory, where the store cannot be written to."""

    def __init__(self, path: Path | None, *, is_read_only: bool = False) -> None:
        self._name = str(path or "the index in memory")
        with self._database_errors():
            if path is None:
                self._database = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
            else:
                mode = "?mode=ro" if is_read_only else ""
                self._database = sqlite3.connect(
                    f"file:{quote(str(path))}{mode}", uri=True, isolation_level=None, timeout=PATIENCE_S,
                    check_same_thread=False,
                )  # fmt: skip
            try:
                self._prepare(is_read_only=is_read_only)
            except BaseException:
                self._database.close()
                raise

    def _prepare(self, *, is_read_only: bool) -> None:
        (version,) = self._database.execute("PRAGMA user_version").fetchone()
        (tables,) = self._database.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if version != VERSION and (tables or is_read_only):
            raise ProductIndexError(f"{self._name}: expected an index of version {VERSION}, got {version}")
        (issue,) = self._database.execute("PRAGMA quick_check(1)").fetchone()
        if issue != "ok":
            raise ProductIndexError(f"{self._name} is damaged: {issue}")
        if is_read_only:
            return
        for pragma in PRAGMAS:
            self._database.execute(f"PRAGMA {pragma}")
        with self.transaction():
            for table in TABLES:
                self._database.execute(table)

    def close(self) -> None:
        """Let go of the file."""
        self._database.close()

    @contextmanager
    def _database_errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.OperationalError as error:  # full, locked, read-only: the index itself is sound
            raise StoreError(f"{self._name}: {error}") from None
        except sqlite3.DatabaseError as error:
            raise ProductIndexError(f"{self._name} is damaged: {error}") from None

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Run the body in a transaction; other processes wait."""
        with self._database_errors():
            self._database.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._database.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):
                    self._database.execute("ROLLBACK")
                raise

    def next_id(self) -> int:
        """The number of the next product; none is given twice."""
        row = self._database.execute("SELECT seq FROM sqlite_sequence WHERE name = 'products'").fetchone()
        return (row[0] if row else 0) + 1

    def add(self, product: Product, part: str, locations: Sequence[Location]) -> Product:
        """Add a product; where its number is taken it gets a new one."""
        taken = self._database.execute("SELECT 1 FROM products WHERE id = ?", (product.id,)).fetchone()
        product = replace(product, id=self.next_id()) if taken or not product.id else product
        corners = [None] * 6 if product.extent is None else [*product.extent.least, *product.extent.most]
        frame = product.world, product.frame_key
        row = (
            product.id,
            part,
            json.dumps(locations),
            product.kind,
            product.stamp_ns,
            *corners,
            *frame,
            product.text(),
        )
        self._database.execute(f"INSERT INTO products VALUES ({', '.join('?' * len(row))})", row)
        return product

    def move(self, id_: int, locations: Sequence[Location]) -> None:
        """Update the location of a product in the same part."""
        self._database.execute("UPDATE products SET places = ? WHERE id = ?", (json.dumps(locations), id_))

    def parts(self) -> dict[str, KnownPart]:
        """The parts that are known by their names."""
        with self._database_errors():
            rows = self._database.execute("SELECT name, size, is_open FROM parts ORDER BY name").fetchall()
        return {name: KnownPart(size=size, is_open=bool(is_open)) for name, size, is_open in rows}

    def set_part(self, name: str, size: int, *, is_open: bool) -> None:
        """Set the size and state of a part."""
        self._database.execute("INSERT OR REPLACE INTO parts VALUES (?, ?, ?)", (name, size, int(is_open)))

    def drop_part(self, name: str) -> None:
        """Forget a part and all that it holds."""
        for table, column in (("parts", "name"), ("products", "part"), ("forgotten", "part")):
            self._database.execute(f"DELETE FROM {table} WHERE {column} = ?", (name,))

    def drop(self, part: str, ids: Sequence[int], *, but_note: bool = False) -> None:
        """Forget products of a part; noted where their bytes are there still."""
        self._database.executemany("DELETE FROM products WHERE id = ?", [(id_,) for id_ in ids])
        if but_note:
            self._database.executemany("INSERT INTO forgotten VALUES (?, ?)", [(part, id_) for id_ in ids])

    def has_forgotten(self, part: str) -> bool:
        """Whether a part holds bytes of products that were forgotten."""
        return self._database.execute("SELECT 1 FROM forgotten WHERE part = ?", (part,)).fetchone() is not None

    def settle(self, part: str) -> None:
        """The bytes of all forgotten products of a part are gone."""
        self._database.execute("DELETE FROM forgotten WHERE part = ?", (part,))

    def of_part(self, part: str) -> Iterator[IndexedProduct]:
        """The products of a part, in the order of their numbers."""
        yield from self._read("SELECT part, places, record, id FROM products WHERE part = ? ORDER BY id", (part,))

    def query(self, query: ProductQuery) -> Iterator[IndexedProduct]:
        """Yield the products of a query, by their stamps.

        Raises:
            UsageError: a query has positions, in several frames that do not compare.
        """
        self._require_comparable(query)
        if query.frame:
            chosen: Iterator[IndexedProduct] = self._in_frame(query)
            yield from chosen if query.newest is None else deque(chosen, maxlen=query.newest)
            return
        where, values = _condition(query)
        columns = "part, places, record, id"
        if query.newest is None:
            yield from self._read(f"SELECT {columns} FROM products WHERE {where} ORDER BY stamp_ns, id", values)
            return
        last = f"SELECT * FROM products WHERE {where} ORDER BY stamp_ns DESC, id DESC LIMIT ?"
        yield from self._read(f"SELECT {columns} FROM ({last}) ORDER BY stamp_ns, id", (*values, query.newest))

    def count(self, query: ProductQuery) -> int:
        """Return how many products match a query."""
        self._require_comparable(query)
        if query.frame:
            number = sum(1 for _ in self._in_frame(query))
            return number if query.newest is None else min(number, query.newest)
        where, values = _condition(query)
        with self._database_errors():
            (number,) = self._database.execute(f"SELECT count(*) FROM products WHERE {where}", values).fetchone()
        return int(number if query.newest is None else min(number, query.newest))

    def _in_frame(self, query: ProductQuery) -> Iterator[IndexedProduct]:
        """Yield those whose chain has the frame, and that touch the positions there."""
        where, values = _condition(query, with_places=False)
        columns = "part, places, record, id"
        for each in self._read(f"SELECT {columns} FROM products WHERE {where} ORDER BY stamp_ns, id", values):
            product = each.product
            if query.frame in product.frames and query.touches(product.extent_in(query.frame)):
                yield each

    def _require_comparable(self, query: ProductQuery) -> None:
        """Raise UsageError if a query has positions, and those of the products are in frames that do not compare."""
        if not query.has_place:
            return
        where, values = _condition(query, with_places=False)
        statement = f"SELECT min(record) FROM products WHERE {where} AND x_min IS NOT NULL GROUP BY frame_key, world"
        with self._database_errors():
            rows = self._database.execute(statement, values).fetchall()
        own = [product_of_text(record) for (record,) in rows]
        if query.frame:
            own = [each for each in own if query.frame in each.frames]
            keys, advice = {each.world for each in own}, "choose a world (--world)"
        else:
            keys = {each.frame_key for each in own}
            common = set.intersection(*(set(each.frames) for each in own)) if own else set()
            advice = f"choose a frame ({', '.join(sorted(common)) or 'none is in all'}) or a world (--frame, --world)"
        if len(keys) > 1:
            labels = sorted({f"{query.frame or each.frames[-1]} of {each.world or UNKNOWN_WORLD}" for each in own})
            shown = "; ".join(labels[:MAX_FRAMES]) + ("; ..." if len(labels) > MAX_FRAMES else "")
            raise UsageError(f"places in {len(keys)} frames do not compare: {shown}\n{advice}")

    def kinds(self) -> dict[str, int]:
        """Count the products of each kind."""
        with self._database_errors():
            return dict(self._database.execute("SELECT kind, count(*) FROM products GROUP BY kind ORDER BY kind"))

    def _read(self, statement: str, values: Sequence[object]) -> Iterator[IndexedProduct]:
        with self._database_errors():
            cursor = self._database.execute(statement, values)
        while True:
            with self._database_errors():
                rows = cursor.fetchmany(ROWS)
            if not rows:
                return
            for part, locations, record, id_ in rows:
                own = tuple((block, offset) for block, offset in json.loads(locations))
                yield IndexedProduct(product=replace(product_of_text(record), id=id_), part=part, locations=own)


def _condition(query: ProductQuery, *, with_places: bool = True) -> tuple[str, list[object]]:
    """Return the SQL condition and its values."""
    conditions: list[tuple[str, Sequence[object]]] = [("1", ())]
    for column, requested in (("id", query.ids), ("kind", query.kinds)):
        if requested:
            conditions.append((f"{column} IN ({', '.join('?' * len(requested))})", requested))
    if query.start_ns is not None:
        conditions.append(("stamp_ns >= ?", [query.start_ns]))
    if query.end_ns is not None:
        conditions.append(("stamp_ns <= ?", [query.end_ns]))
    if query.world:
        conditions.append(("world = ?", [query.world]))
    if query.box is not None and with_places:
        conditions += [(f"{axis}_max >= ?", [low]) for axis, low in zip("xyz", query.box.least, strict=True)]
        conditions += [(f"{axis}_min <= ?", [high]) for axis, high in zip("xyz", query.box.most, strict=True)]
    if query.centre is not None and with_places:
        squares, values = [], []
        for axis, at in zip("xyz", query.centre, strict=True):
            outside = f"max({axis}_min - ?, 0, ? - {axis}_max)"
            squares.append(f"{outside} * {outside}")
            values += [at] * 4
        conditions.append((f"{' + '.join(squares)} <= ?", [*values, query.radius_m**2]))
    return " AND ".join(text for text, _ in conditions), [value for _, values in conditions for value in values]
