"""Stores of products: what is kept comes back, whatever happens to the process, the index, or the disk."""

import gc
import json
import os
import sqlite3
import subprocess
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fieldplay.bags.bag_reader import Ros2Bag
from fieldplay.core.errors import UsageError
from fieldplay_cdff.products import store as parts
from fieldplay_cdff.products.index import FILE
from fieldplay_cdff.products.product import (
    Extent,
    InputSpan,
    Producer,
    Product,
    ProductMessage,
    ProductQuery,
    SensorPose,
    StoreError,
    digest_of,
    product_of_text,
)
from fieldplay_cdff.products.store import ProductStore

START_NS = 1_600_000_000_000_000_000
NUMBER = "std_msgs/msg/Float64"
MAKER = Producer(dfpc="Chain", implementation="Plain", configuration="00ff", version="0.1.0")
STANDS = SensorPose(position=(1.0, 2.0, 3.0), orientation=(0.0, 0.0, 0.0, 1.0), covariance=(0.0,) * 36)


def product_of(row: int, kind: str = "cloud", size: int = 8) -> tuple[Product, list[ProductMessage]]:
    """A product in the cube that begins at x = row, taken `row` seconds after the start."""
    messages = [ProductMessage(f"/chain/{kind}", NUMBER, bytes([0, 1, 0, 0]) + bytes([row % 256]) * size)]
    return Product(
        kind=kind, stamp_ns=START_NS + row * 10**9, stored_ns=5, frame="scene", messages=((f"/chain/{kind}", NUMBER),),
        size=size + 4, digest=digest_of(messages), producer=MAKER, quality=0.5,
        inputs={"left": InputSpan(topic="/left", first_ns=START_NS, last_ns=START_NS + 1)},
        pose=STANDS if row % 2 else None,
        extent=Extent((row, 0.0, 0.0), (row + 1.0, 1.0, 1.0)) if kind == "cloud" else None,
    ), messages  # fmt: skip


def filled(folder: Path, count: int, **options: int) -> Path:
    with ProductStore(folder, is_written=True, **options) as store:
        for row in range(count):
            store.add(*product_of(row, "pose" if row % 5 == 4 else "cloud"))
    return folder


def ids(store: ProductStore, **requested: Any) -> list[int]:
    return [product.id for product in store.query(ProductQuery(**requested))]


@pytest.fixture
def told() -> Iterator[list[str]]:
    yield []


def test_a_record_comes_back_from_its_text_and_another_form_does_not() -> None:
    product, _ = product_of(1)
    assert product_of_text(replace(product, id=7).text()) == replace(product, id=7)
    with pytest.raises(StoreError, match="expected a record of form 1"):
        product_of_text(product.text().replace('"form":1', '"form":2'))
    with pytest.raises(StoreError, match=r"expected the record of a product, got '\{\}'"):
        product_of_text("{}")


def test_products_are_found_by_number_kind_time_place_and_age(tmp_path: Path) -> None:
    with ProductStore(filled(tmp_path / "store", 10)) as store:
        assert ids(store) == list(range(1, 11)) and store.kinds == {"cloud": 8, "pose": 2}
        assert ids(store, kinds=("pose",)) == [5, 10]
        assert ids(store, start_ns=START_NS + 10**9, end_ns=START_NS + 3 * 10**9) == [2, 3, 4]
        assert ids(store, start_ns=START_NS + 10**9 + 1, end_ns=START_NS + 3 * 10**9 - 1) == [3]
        assert ids(store, newest=2) == [9, 10] and ids(store, newest=2, kinds=("cloud",)) == [8, 9]
        assert ids(store, box=Extent((2.5, 0.2, 0.2), (3.5, 0.4, 0.4))) == [3, 4], "those without a place are none"
        assert ids(store, centre=(2.0, 2.0, 1.0), radius_m=0.99) == []
        assert ids(store, centre=(2.0, 2.0, 1.0), radius_m=1.0) == [2, 3]
        assert ids(store, centre=(-3.0, -4.0, 0.5), radius_m=5.0) == [1]
        assert store.count(ProductQuery(newest=3)) == 3 and store.count(ProductQuery(kinds=("map",))) == 0
        product = next(iter(store.query(ProductQuery(ids=(4,)))))
        assert product == replace(product_of(3)[0], id=4)
        assert store.messages(4) == product_of(3)[1]
        with pytest.raises(StoreError, match="has no product 11"):
            store.messages(11)


@pytest.mark.parametrize(
    ("requested", "message"),
    [
        ({"start_ns": 2, "end_ns": 1}, "begins before it ends, got 2 and 1 ns"),
        ({"box": Extent((0, 0, 1), (1, 1, 0))}, "least corner first"),
        ({"radius_m": -1.0}, "a radius from 0"),
    ],
)
def test_a_query_that_cannot_be_is_refused(requested: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        ProductQuery(**requested)


def test_a_start_goes_on_in_a_new_part_and_each_part_is_a_bag(tmp_path: Path) -> None:
    store = filled(filled(tmp_path / "store", 3), 2)
    assert parts.part_names(store) == ["part_000001", "part_000002"]
    with ProductStore(store) as again:
        assert ids(again) == [1, 4, 2, 5, 3], "by their stamps"
    issues: list[object] = []
    bag = Ros2Bag(store / "part_000001", issues.append)
    assert {name: len(own.offsets.stamp_ns) for name, own in bag.indexed.items()} == {
        "/chain/cloud": 3, parts.RECORDS: 3,
    }  # fmt: skip
    bag.close()
    assert issues == []


KILLED = """
import os, sys
sys.path.insert(0, sys.argv[2])
from pathlib import Path
from test_product_store import ProductStore, product_of
store = ProductStore(Path(sys.argv[1]), is_written=True)
for row in range(6):
    store.add(*product_of(row, size=100_000))
os.kill(os.getpid(), 9)
"""


def test_a_killed_writer_loses_nothing_that_was_kept(tmp_path: Path, told: list[str]) -> None:
    folder = tmp_path / "store"
    words = [sys.executable, "-c", KILLED, str(folder), str(Path(__file__).parent)]
    assert subprocess.run(words, check=False).returncode == -9
    part = parts.part_file(folder, "part_000001")
    with ProductStore(folder, report=told.append) as reader:
        assert ids(reader) == [1, 2, 3, 4, 5, 6] and "6 products in it are whole" in told[0]
    part.write_bytes(part.read_bytes()[:-50_000])  # as a machine that crashed
    (folder / FILE).unlink()
    with ProductStore(folder, is_written=True, report=told.append) as store:
        assert ids(store) == [1, 2, 3, 4, 5] and told[-1] == f"{part} was cut off: 5 products in it are whole"
        assert store.messages(5) == product_of(4, size=100_000)[1]
        assert store.add(*product_of(9)).id == 6
    del told[:]
    with ProductStore(folder, is_written=True, report=told.append) as store:
        assert ids(store) == [1, 2, 3, 4, 5, 6] and told == [], "the part was made whole"
    assert (part.parent / "metadata.yaml").is_file()


def rubbish(index: Path) -> None:
    index.write_bytes(b"no database at all" * 100)


def other_version(index: Path) -> None:
    database = sqlite3.connect(index)
    database.execute("PRAGMA user_version = 7")
    database.close()


def torn(index: Path) -> None:
    with index.open("r+b") as file:
        file.seek(4096)
        file.write(os.urandom(8192))


@pytest.mark.parametrize(
    ("harm", "told_of_it"),
    [(rubbish, "file is not a database"), (other_version, "expected an index of version 1, got 7"), (torn, "damaged")],
)
def test_an_index_that_does_not_serve_is_made_anew(
    tmp_path: Path, harm: Callable[[Path], None], told_of_it: str, told: list[str]
) -> None:
    folder = filled(tmp_path / "store", 10, part_products=4)
    before = list(ProductStore(folder).query())
    harm(folder / FILE)
    with ProductStore(folder, report=told.append) as store:
        assert list(store.query()) == before
    assert len(told) == 1 and told_of_it in told[0] and told[0].endswith("it is made anew of the bags")
    with ProductStore(folder, report=told.append) as store:
        assert list(store.query()) == before and len(told) == 1


def test_what_is_forgotten_gives_its_bytes_back_and_its_number_is_not_given_again(tmp_path: Path) -> None:
    folder = filled(tmp_path / "store", 10, part_products=4)
    size = sum(file.stat().st_size for file in folder.rglob("*.mcap"))
    with ProductStore(folder, is_written=True) as store:
        assert store.forget(ProductQuery(ids=(2, 3))) == 2
        assert store.forget(ProductQuery(start_ns=START_NS + 8 * 10**9)) == 2
        assert store.forget(ProductQuery(kinds=("map",))) == 0
        assert parts.part_names(folder) == ["part_000001", "part_000002"], "the third held nothing else"
        assert store.messages(4) == product_of(3)[1] and ids(store) == [1, 4, 5, 6, 7, 8]
        added = store.add(*product_of(0))
        assert added.id == 11
        assert store.forget(ProductQuery(ids=(11,))) == 1, "also of the part that is being written"
    assert sum(file.stat().st_size for file in folder.rglob("*.mcap")) < 0.7 * size
    (folder / FILE).unlink()
    with ProductStore(folder) as store:
        assert ids(store) == [1, 4, 5, 6, 7, 8]


def test_two_write_at_once_and_what_one_forgets_of_the_other_is_gone_at_its_end(tmp_path: Path) -> None:
    folder = tmp_path / "store"
    with ProductStore(folder, is_written=True) as first:
        for row in range(3):
            first.add(*product_of(row))
        with ProductStore(folder, is_written=True) as second:
            second.add(*product_of(3))
            assert ids(first) == [1, 2, 3, 4] == ids(second)
            assert second.forget(ProductQuery(ids=(2,))) == 1 and ids(first) == [1, 3, 4]
    (folder / FILE).unlink()
    with ProductStore(folder) as store:
        assert ids(store) == [1, 3, 4]


def test_a_damaged_product_is_told_and_the_others_are_read(tmp_path: Path, told: list[str]) -> None:
    with ProductStore(tmp_path / "store", is_written=True) as store:
        for row in range(3):
            store.add(*product_of(row, size=100_000))
    part = parts.part_file(tmp_path / "store", "part_000001")
    data = bytearray(part.read_bytes())
    data[150_000] ^= 255
    part.write_bytes(data)
    with ProductStore(tmp_path / "store", is_written=True, report=told.append) as store:
        with pytest.raises(StoreError, match=r"product 2 in .* is damaged: expected SHA-256"):
            store.messages(2)
        assert store.messages(3) == product_of(2, size=100_000)[1]
        assert store.forget(ProductQuery(ids=(1,))) == 1 and ids(store) == [2, 3]
        with pytest.raises(StoreError, match="is damaged"):
            store.messages(2)
    part.write_bytes(b"else" + part.read_bytes()[4:])
    (tmp_path / "store" / FILE).unlink()
    with ProductStore(tmp_path / "store", is_written=True, report=told.append) as store:
        assert ids(store) == [] and told == [f"{part}: expected an MCAP file, got other first bytes"]
    assert part.is_file(), "what cannot be read is not deleted"


def test_a_full_disk_is_told_and_what_was_kept_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with ProductStore(tmp_path / "store", is_written=True) as store:
        store.add(*product_of(0))
        with monkeypatch.context() as patched:
            patched.setattr(parts.McapWriter, "write_chunk", full)
            for row in (1, 2):
                with pytest.raises(StoreError, match=r"cannot be kept in .*store: No space left on device"):
                    store.add(*product_of(row))
        assert store.add(*product_of(3)).id == 2
        assert ids(store) == [1, 2] and store.messages(1) == product_of(0)[1]
    with ProductStore(tmp_path / "store", is_written=True) as store:
        assert ids(store) == [1, 2]


def test_a_store_that_cannot_be_written_to_is_read_and_refuses_in_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = filled(tmp_path / "store", 3)
    connect = sqlite3.connect

    def read_only(name: str, **options: Any) -> sqlite3.Connection:
        """As a file system that is mounted so: a superuser, who may run this, is stopped by nothing else."""
        place = name if ":memory:" in name else f"{name.partition('?')[0]}?mode=ro"
        opened: sqlite3.Connection = connect(place, **options)
        return opened

    monkeypatch.setattr(sqlite3, "connect", read_only)
    with pytest.raises(StoreError, match=r"products cannot be kept in .*store: .*readonly database"):
        ProductStore(folder, is_written=True)
    with ProductStore(folder) as store:
        assert ids(store) == [1, 2, 3]
        with pytest.raises(StoreError, match="is open for reading"):
            store.add(*product_of(0))
    (folder / FILE).write_bytes(b"")
    with ProductStore(folder) as store:
        assert ids(store) == [1, 2, 3], "of an index in memory"


def test_who_only_reads_does_not_mind_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = filled(tmp_path / "store", 3)
    before = (folder / FILE).read_bytes()
    with ProductStore(folder, is_written=True) as store:
        for row in range(3, 43):
            store.add(*product_of(row))
    (folder / FILE).write_bytes(before)  # an index that does not know the last part
    connect = sqlite3.connect

    def full(name: str, **options: Any) -> sqlite3.Connection:
        opened: sqlite3.Connection = connect(name, **options)
        if ":memory:" not in name:
            opened.execute("PRAGMA max_page_count = 1")  # no more than there are
        return opened

    monkeypatch.setattr(sqlite3, "connect", full)
    with pytest.raises(StoreError, match="database or disk is full"):
        ProductStore(folder, is_written=True)
    with ProductStore(folder) as store:
        assert ids(store) == list(range(1, 44))
        assert store.messages(43) == product_of(42)[1]


def test_what_is_no_store_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    for path, message in (
        (tmp_path / "none", "there is no such store"),
        (tmp_path, "expected a store of products, with index.sqlite and part_000001"),
        (tmp_path / "notes.txt", "got a file"),
    ):
        with pytest.raises(StoreError, match=message):
            ProductStore(path)
    with pytest.raises(StoreError, match="expected a store of products"):
        ProductStore(tmp_path, is_written=True)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_memory_does_not_grow_with_the_products(tmp_path: Path) -> None:
    with ProductStore(tmp_path / "store", is_written=True, part_products=50) as store:
        for row in range(100):
            store.add(*product_of(row, size=2000))
        tracemalloc.start()
        for row in range(500):
            store.add(*product_of(row, size=2000))
        gc.collect()
        grown, _ = tracemalloc.get_traced_memory()
        found = sum(1 for _ in store.query())
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert found == 600 and grown < 150_000 and most < 2_000_000


def test_the_index_and_the_bags_say_the_same_to_another_program(tmp_path: Path) -> None:
    folder = filled(tmp_path / "store", 2)
    database = sqlite3.connect(folder / FILE)
    rows = database.execute("SELECT id, part, kind, stamp_ns, x_min, x_max, record FROM products").fetchall()
    database.close()
    assert [row[:6] for row in rows] == [
        (1, "part_000001", "cloud", START_NS, 0.0, 1.0), (2, "part_000001", "cloud", START_NS + 10**9, 1.0, 2.0),
    ]  # fmt: skip
    record = json.loads(rows[1][6])
    assert record["messages"] == [{"topic": "/chain/cloud", "type": NUMBER}] and record["form"] == 1
