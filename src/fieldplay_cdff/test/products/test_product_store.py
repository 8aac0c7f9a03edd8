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

import numpy as np
import pytest

from fieldplay.bags.bag_reader import Ros2Bag
from fieldplay.core.errors import UsageError
from fieldplay_cdff.products import store as parts
from fieldplay_cdff.products.index import FILE
from fieldplay_cdff.products.product import (
    Extent,
    FrameLink,
    InputSpan,
    Producer,
    Product,
    ProductQuery,
    SensorPose,
    StoreError,
    TypedMessage,
    digest_of,
    product_of_text,
)
from fieldplay_cdff.products.store import ProductStore
from fieldplay_cdff.steps.values import Array

START_NS = 1_600_000_000_000_000_000
NUMBER = "std_msgs/msg/Float64"
MAKER = Producer(dfpc="Chain", implementation="Plain", configuration="00ff", version="0.1.0")
STANDS = SensorPose(position=(1.0, 2.0, 3.0), orientation=(0.0, 0.0, 0.0, 1.0), covariance=(0.0,) * 36)


def product_of(row: int, kind: str = "cloud", size: int = 8) -> tuple[Product, list[TypedMessage]]:
    """A product in the cube that begins at x = row, taken `row` seconds after the start."""
    messages = [TypedMessage(f"/chain/{kind}", NUMBER, bytes([0, 1, 0, 0]) + bytes([row % 256]) * size)]
    return Product(
        kind=kind, stamp_ns=START_NS + row * 10**9, stored_ns=5, frame="scene", messages=((f"/chain/{kind}", NUMBER),),
        size=size + 4, digest=digest_of(messages), producer=MAKER, quality=0.5,
        inputs={"left": InputSpan(topic="/left", first_ns=START_NS, last_ns=START_NS + 1)},
        pose=STANDS if row % 2 else None,
        extent=Extent((row, 0.0, 0.0), (row + 1.0, 1.0, 1.0)) if kind == "cloud" else None,
    ), messages  # fmt: skip


def fill_store(folder: Path, count: int, **options: int) -> Path:
    with ProductStore(folder, is_written=True, **options) as store:
        for row in range(count):
            store.add(*product_of(row, "pose" if row % 5 == 4 else "cloud"))
    return folder


def ids(store: ProductStore, **requested: Any) -> list[int]:
    return [product.id for product in store.query(ProductQuery(**requested))]


@pytest.fixture
def reports() -> Iterator[list[str]]:
    yield []


def test_record_round_trips_and_other_form_is_rejected() -> None:
    product, _ = product_of(1)
    assert product_of_text(replace(product, id=7).text()) == replace(product, id=7)
    with pytest.raises(StoreError, match="expected a record of form 1"):
        product_of_text(product.text().replace('"form":1', '"form":2'))
    with pytest.raises(StoreError, match=r"expected the record of a product, got '\{\}'"):
        product_of_text("{}")


def test_products_are_queried_by_number_kind_time_position_and_age(tmp_path: Path) -> None:
    with ProductStore(fill_store(tmp_path / "store", 10)) as store:
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
        ({"start_ns": 2, "end_ns": 1}, "starts before it ends, got 2 and 1 ns"),
        ({"box": Extent((0, 0, 1), (1, 1, 0))}, "least corner first"),
        ({"radius_m": -1.0}, "a radius from 0"),
    ],
)
def test_impossible_query_is_rejected(requested: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        ProductQuery(**requested)


def test_restart_continues_in_new_part_and_each_part_is_a_bag(tmp_path: Path) -> None:
    store = fill_store(fill_store(tmp_path / "store", 3), 2)
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


def test_killed_writer_loses_no_stored_product(tmp_path: Path, reports: list[str]) -> None:
    folder = tmp_path / "store"
    command = [sys.executable, "-c", KILLED, str(folder), str(Path(__file__).parent)]
    assert subprocess.run(command, check=False).returncode == -9
    part = parts.part_file(folder, "part_000001")
    with ProductStore(folder, report=reports.append) as reader:
        assert ids(reader) == [1, 2, 3, 4, 5, 6] and "6 products in it are complete" in reports[0]
    part.write_bytes(part.read_bytes()[:-50_000])  # as a machine that crashed
    (folder / FILE).unlink()
    with ProductStore(folder, is_written=True, report=reports.append) as store:
        assert ids(store) == [1, 2, 3, 4, 5] and reports[-1] == f"{part} was cut off: 5 products in it are complete"
        assert store.messages(5) == product_of(4, size=100_000)[1]
        assert store.add(*product_of(9)).id == 6
    del reports[:]
    with ProductStore(folder, is_written=True, report=reports.append) as store:
        assert ids(store) == [1, 2, 3, 4, 5, 6] and reports == [], "the part was made whole"
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
    ("harm", "expected"),
    [(rubbish, "file is not a database"), (other_version, "expected an index of version 2, got 7"), (torn, "damaged")],
)
def test_unusable_index_is_rebuilt(
    tmp_path: Path, harm: Callable[[Path], None], expected: str, reports: list[str]
) -> None:
    folder = fill_store(tmp_path / "store", 10, part_products=4)
    before = list(ProductStore(folder).query())
    harm(folder / FILE)
    with ProductStore(folder, report=reports.append) as store:
        assert list(store.query()) == before
    assert len(reports) == 1 and expected in reports[0] and reports[0].endswith("it is made anew of the bags")
    with ProductStore(folder, report=reports.append) as store:
        assert list(store.query()) == before and len(reports) == 1


def test_deleted_product_frees_its_bytes_and_its_number_is_not_reused(tmp_path: Path) -> None:
    folder = fill_store(tmp_path / "store", 10, part_products=4)
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


def test_product_of_other_writer_can_be_deleted(tmp_path: Path) -> None:
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


def test_damaged_product_is_reported_and_others_are_read(tmp_path: Path, reports: list[str]) -> None:
    with ProductStore(tmp_path / "store", is_written=True) as store:
        for row in range(3):
            store.add(*product_of(row, size=100_000))
    part = parts.part_file(tmp_path / "store", "part_000001")
    data = bytearray(part.read_bytes())
    data[150_000] ^= 255
    part.write_bytes(data)
    with ProductStore(tmp_path / "store", is_written=True, report=reports.append) as store:
        with pytest.raises(StoreError, match=r"product 2 in .* is damaged: expected SHA-256"):
            store.messages(2)
        assert store.messages(3) == product_of(2, size=100_000)[1]
        assert store.forget(ProductQuery(ids=(1,))) == 1 and ids(store) == [2, 3]
        with pytest.raises(StoreError, match="is damaged"):
            store.messages(2)
    part.write_bytes(b"else" + part.read_bytes()[4:])
    (tmp_path / "store" / FILE).unlink()
    with ProductStore(tmp_path / "store", is_written=True, report=reports.append) as store:
        assert ids(store) == [] and reports == [f"{part}: expected an MCAP file, got other first bytes"]
    assert part.is_file(), "what cannot be read is not deleted"


def test_full_disk_is_reported_and_stored_products_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_read_only_store_is_read_and_rejects_writing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = fill_store(tmp_path / "store", 3)
    connect = sqlite3.connect

    def read_only(name: str, **options: Any) -> sqlite3.Connection:
        """As a file system that is mounted so: a superuser, who may run this, is stopped by nothing else."""
        path = name if ":memory:" in name else f"{name.partition('?')[0]}?mode=ro"
        opened: sqlite3.Connection = connect(path, **options)
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


def test_reader_works_on_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = fill_store(tmp_path / "store", 3)
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


def test_folder_without_store_is_left_unchanged(tmp_path: Path) -> None:
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


def test_memory_does_not_grow_with_number_of_products(tmp_path: Path) -> None:
    with ProductStore(tmp_path / "store", is_written=True, part_products=50) as store:
        for row in range(100):
            store.add(*product_of(row, size=2000))
        tracemalloc.start()
        for row in range(500):
            store.add(*product_of(row, size=2000))
        gc.collect()
        grown, _ = tracemalloc.get_traced_memory()
        count = sum(1 for _ in store.query())
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    # The writer of the open part has some 140 kB however many products there are; the 500 of them are 1 MB.
    assert count == 600 and grown < 300_000 and most < 2_000_000


def test_index_and_bags_agree_for_another_program(tmp_path: Path) -> None:
    folder = fill_store(tmp_path / "store", 2)
    database = sqlite3.connect(folder / FILE)
    rows = database.execute("SELECT id, part, kind, stamp_ns, x_min, x_max, record FROM products").fetchall()
    database.close()
    assert [row[:6] for row in rows] == [
        (1, "part_000001", "cloud", START_NS, 0.0, 1.0), (2, "part_000001", "cloud", START_NS + 10**9, 1.0, 2.0),
    ]  # fmt: skip
    record = json.loads(rows[1][6])
    assert record["messages"] == [{"topic": "/chain/cloud", "type": NUMBER}] and record["form"] == 1


def map_t_scene(yaw_deg: float, *shift: float) -> Array:
    turn = np.deg2rad(yaw_deg)
    transform = np.eye(4)
    transform[:2, :2] = [[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]]
    transform[:3, 3] = shift
    return transform


def chained(row: int, world: str, *links: FrameLink) -> tuple[Product, list[TypedMessage]]:
    product, messages = product_of(row)
    return replace(product, world=world, chain=links), messages


def test_places_of_two_runs_compare_in_the_map_that_both_are_tied_to(tmp_path: Path) -> None:
    first = FrameLink.of_transform("map", "scene", map_t_scene(0, 100, 0, 0))
    second = FrameLink.of_transform("map", "scene", map_t_scene(90, 110, 5, 0))
    with ProductStore(tmp_path / "store", is_written=True) as store:
        for row in range(3):  # x from 100 to 103 in the map; then y from 5 to 8, x from 109 to 110
            store.add(*chained(row, "field", first))
        for row in range(3):
            store.add(*chained(row, "field", second))
        assert ids(store, centre=(109.5, 5.5, 0.5), radius_m=0.1, frame="map") == [4]
        box = Extent((101.1, 0, 0), (109.9, 6.5, 1))
        assert ids(store, box=box, frame="map") == [4, 2, 5, 3], "in the order of their stamps"
        assert ids(store, box=box, frame="map", newest=1) == [3]
        assert store.count(ProductQuery(frame="map")) == 6 and store.count(ProductQuery(frame="odom")) == 0
        with pytest.raises(
            UsageError, match=r"places in 2 frames do not compare: scene of field\nchoose a frame \(map"
        ):
            ids(store, centre=(0.5, 0.5, 0.5), radius_m=0.1)
        assert len(ids(store, kinds=("cloud",))) == 6, "without a place nothing has to compare"


def test_places_in_worlds_that_nothing_ties_are_refused_until_one_is_chosen(tmp_path: Path) -> None:
    with ProductStore(tmp_path / "store", is_written=True) as store:
        for world in ("monday", "tuesday"):
            store.add(*chained(0, world, FrameLink.of_transform("map", "scene", np.eye(4))))
        near = {"centre": (0.5, 0.5, 0.5), "radius_m": 0.1}
        with pytest.raises(UsageError, match="places in 2 frames do not compare: map of monday; map of tuesday"):
            ids(store, **near, frame="map")
        assert ids(store, **near, frame="map", world="tuesday") == [2]
        assert ids(store, **near, world="monday") == [1]
        assert ids(store, world="sunday") == []


def test_extent_in_a_frame_of_the_chain_is_that_of_its_turned_corners() -> None:
    chain = (
        FrameLink.of_transform("map", "odom", map_t_scene(0, 10, 0, 0)),
        FrameLink.of_transform("odom", "scene", map_t_scene(45, 0, 2, 0)),
    )
    product = replace(product_of(0)[0], chain=chain)  # the cube from the origin to 1, 1, 1
    assert product.frames == ("map", "odom", "scene")
    half = np.sqrt(0.5)
    for frame, shift in (("map", 10.0), ("odom", 0.0)):
        extent = product.extent_in(frame)
        assert extent is not None
        np.testing.assert_allclose(extent, [[shift - half, 2, 0], [shift + half, 2 + 2 * half, 1]], atol=1e-12)
    assert product.extent_in("scene") == product.extent and product.extent_in("base_link") is None
    assert product_of_text(product.text()) == product
