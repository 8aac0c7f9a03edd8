"""What it costs to keep products: time and memory of so many, of opening, finding, forgetting, and of a lost index.

python bench/products.py [--count 10000] [--bytes 300]
"""

import argparse
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from fieldplay_cdff.products.index import FILE
from fieldplay_cdff.products.product import (
    Extent,
    Producer,
    Product,
    ProductQuery,
    TypedMessage,
    digest_of,
)
from fieldplay_cdff.products.store import ProductStore

TYPE, TOPIC = "std_msgs/msg/Float64", "/bench/number"
MAKER = Producer(dfpc="Bench", implementation="Plain", configuration="0", version="0")
STEPS = 4


def product_of(row: int, size: int) -> tuple[Product, list[TypedMessage]]:
    """A product in the cube at x = row, a second after the one before."""
    messages = [TypedMessage(TOPIC, TYPE, bytes(4) + row.to_bytes(8, "little") * (size // 8))]
    return Product(
        kind="number", stamp_ns=10**18 + row * 10**9, stored_ns=0, frame="scene", messages=((TOPIC, TYPE),),
        size=len(messages[0].data), digest=digest_of(messages), producer=MAKER,
        extent=Extent((row, 0.0, 0.0), (row + 1.0, 1.0, 1.0)),
    ), messages  # fmt: skip


def resident_mb() -> float:
    """What this process holds of the memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 1e6


@contextmanager
def timed(title: str) -> Iterator[None]:
    """Tell the processor time of what is done inside, and the memory behind it."""
    start = time.process_time()
    yield
    tell(f"{title:24} {time.process_time() - start:8.3f} s CPU {resident_mb():8.1f} MB")


def tell(text: str) -> None:
    sys.stdout.write(text + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--bytes", type=int, default=300)
    chosen = parser.parse_args()
    with TemporaryDirectory() as folder:
        path = Path(folder) / "store"
        with ProductStore(path, is_written=True) as store:
            for step in range(STEPS):
                rows = range(step * chosen.count // STEPS, (step + 1) * chosen.count // STEPS)
                with timed(f"keep {rows.start} to {rows.stop}"):
                    for row in rows:
                        store.add(*product_of(row, chosen.bytes))
        with timed("open"):
            store = ProductStore(path, is_written=True)
        with timed("find some by place"):
            count = sum(1 for _ in store.query(ProductQuery(centre=(50.0, 0.0, 0.0), radius_m=5.0)))
        with timed("read all records"):
            sum(1 for _ in store.query())
        with timed("read 100 products"):
            for number in range(1, 101):
                store.messages(number)
        with timed("forget one"):
            store.forget(ProductQuery(ids=(5,)))
        store.close()
        (path / FILE).write_bytes(b"lost")
        with timed("make the index anew"), ProductStore(path) as store:
            left = store.count()
    tell(f"{count} found by place, {left} left")


if __name__ == "__main__":
    main()
