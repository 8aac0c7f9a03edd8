"""The command `fieldplay products`: what pipelines kept, listed, shown, written into files, deleted."""

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fieldplay.cli.arguments import add_json, add_overwrite, count, number
from fieldplay.cli.parser import CommandParser
from fieldplay.cli.terminal import note, print_line, print_message
from fieldplay.core.atomic_output import write_atomically
from fieldplay.core.errors import ArchiveError, UsageError, pluralize
from fieldplay.core.timestamps import NS_PER_S, ns_from_text

if TYPE_CHECKING:
    from fieldplay_cdff.products.product import Product, ProductQuery
    from fieldplay_cdff.products.store import ProductStore

FORMATS = ("ply", "pcd", "tif", "png", "cdr")
ACTIONS = ("list", "show", "get", "delete")
EPILOG = """\
DIR is a store of products, as fuse --products and the nodes make it; docs/products.md explains its contents.

examples:
  fieldplay products list maps --kind cloud --newest 5
  fieldplay products list maps --time 1600000000 1600000060.5 --near 2.0 0.0 0.5 3.0
  fieldplay products list maps --near 2.0 0.0 0.5 3.0 --frame map
  fieldplay products get maps --id 12 --to clouds          # clouds/12_cloud.ply
  fieldplay products delete maps --time 0 1600000000
"""


def add_arguments(parser: CommandParser) -> None:
    """The action, DIR, and the query of products."""
    parser.add_argument("word", choices=ACTIONS, metavar="|".join(ACTIONS), help="what is to be done")
    parser.add_argument("folder", metavar="DIR", type=Path, help="the store")
    with parser.section("selection"):
        parser.add_argument("--id", type=count, nargs="+", default=[], metavar="N", help="products of these numbers")
        parser.add_argument(
            "--kind", action="append", default=[], metavar="K", help="products of a kind, such as cloud"
        )
        parser.add_argument(
            "--time", type=_stamp, nargs=2, metavar=("T0", "T1"), help="products of these times, s since 1970"
        )
        parser.add_argument(
            "--near", type=number, nargs=4, metavar=("X", "Y", "Z", "R"), help="products that touch a sphere, m"
        )
        parser.add_argument(
            "--box", type=number, nargs=6, metavar=("X0", "Y0", "Z0", "X1", "Y1", "Z1"),
            help="products that touch a box, m",
        )  # fmt: skip
        parser.add_argument("--frame", default="", metavar="F", help="frame of --near and --box, such as map")
        parser.add_argument("--world", default="", metavar="W", help="products of this world: which map is meant")
        parser.add_argument("--newest", type=count, metavar="N", help="the last N of these only")
    with parser.section("output"):
        parser.add_argument("--to", type=Path, default=Path(), metavar="FOLDER", help="folder of get (default: here)")
        parser.add_argument(
            "--format", choices=FORMATS, default="",
            help="of the files of get (default: PLY for clouds, GeoTIFF for maps, PNG for images, else CDR)",
        )  # fmt: skip
        parser.add_argument("--raw", action="store_true", help="get writes the bytes of the messages as they are (CDR)")
        add_overwrite(parser, "get replaces existing files")
        add_json(parser, "the records as JSON")


def run(chosen: argparse.Namespace) -> int:
    """Do it."""
    from fieldplay_cdff.products.store import ProductStore

    query = _query(chosen)
    if chosen.word == "delete" and query.is_all:
        raise UsageError("delete: expected which products, such as --kind, --time or --id; rm takes the whole folder")
    with ProductStore(chosen.folder, is_written=chosen.word == "delete", report=note) as store:
        if not store.count(query):
            return _print_none(chosen, store)
        if chosen.word == "delete":
            print_message(f"{chosen.folder}: {pluralize(store.forget(query), 'product')} deleted, {store.count()} left")
        elif chosen.word == "get":
            _get(chosen, store, query)
        elif chosen.json:
            _print_json(store.query(query))
        else:
            for product in store.query(query):
                for line in _lines(product, is_complete=chosen.word == "show"):
                    print_line(line)
    return 0


def _query(chosen: argparse.Namespace) -> "ProductQuery":
    from fieldplay_cdff.products.product import Extent, ProductQuery

    start_ns, end_ns = chosen.time or (None, None)
    (x, y, z), radius_m = (chosen.near[:3], chosen.near[3]) if chosen.near else ((0.0, 0.0, 0.0), 0.0)
    box = chosen.box and Extent(tuple(chosen.box[:3]), tuple(chosen.box[3:]))
    return ProductQuery(
        ids=tuple(chosen.id), kinds=tuple(chosen.kind), start_ns=start_ns, end_ns=end_ns, box=box or None,
        centre=(x, y, z) if chosen.near else None, radius_m=radius_m, newest=chosen.newest,
        frame=chosen.frame, world=chosen.world,
    )  # fmt: skip


def _stamp(text: str) -> int:
    try:
        return ns_from_text(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _print_none(chosen: argparse.Namespace, store: "ProductStore") -> int:
    """Print that there are no products; an empty list is no error."""
    kinds = ", ".join(f"{number} of kind {kind}" for kind, number in store.kinds.items())
    text = f"{chosen.folder}: no product is like this; it has {kinds or 'none'}"
    if chosen.word != "list":
        raise ArchiveError(text)
    note(text)
    if chosen.json:
        print_line("[]")
    return 0


def _print_json(products: "Iterator[Product]") -> None:
    """A list, one product after the other: there may be very many."""
    first = True
    for product in products:
        print_line(f"{'[' if first else ','}{product.text()}")
        first = False
    print_line("]")


def _lines(product: "Product", *, is_complete: bool) -> Iterator[str]:
    if is_complete:
        yield json.dumps(product.as_dict(), indent=1)
        return
    seconds, rest = divmod(product.stamp_ns, NS_PER_S)
    fields = [f"{product.id:6d}", f"{seconds}.{rest:09d}", product.kind, f"{product.size} bytes", product.frame]
    fields += [f"quality {product.quality:.3f}"] if product.quality is not None else []
    if product.extent is not None:
        low, high = (" ".join(f"{value:.2f}" for value in corner) for corner in product.extent)
        fields.append(f"[{low}, {high}]")
    fields += [f"in {product.frames[0]}"] if product.chain else []
    fields += [f"of {product.world}"] if product.world else []
    yield "  ".join([*fields, product.producer.dfpc])


def _get(chosen: argparse.Namespace, store: "ProductStore", query: "ProductQuery") -> None:
    """Write each into files of its own, one after the other."""
    from fieldplay_cdff.offline.product_files import product_files

    written: list[dict[str, Any]] = []
    for product in store.query(query):
        name = "cdr" if chosen.raw else chosen.format
        for ending, data in product_files(store.messages(product.id), name).items():
            path = chosen.to / f"{product.id}_{product.kind}{ending}"
            if path.exists() and not chosen.overwrite:
                raise UsageError(f"{path} exists; --overwrite replaces it")
            write_atomically(path, data)
            written.append({"id": product.id, "file": str(path)})
            if not chosen.json:
                print_line(str(path))
    if chosen.json:
        print_line(json.dumps(written, indent=1))
