"""The files of an IDA archive, what their names tell, and what their labels say of them."""

import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from fieldplay.core.errors import ArchiveError, Defect
from fieldplay.datasets.archive import Archive
from fieldplay.io.containers import Files
from fieldplay.io.file_names import last_part
from fieldplay.io.pds4 import Label, LabelledFile, label_from_xml
from fieldplay.io.zip_directory import leaves_archive

NAME = re.compile(
    r"A(?P<apid>\d{4})_(?P<sol>\d{4})_(?P<start>\d{9,10})_(?P<end>\d{9,10})_(?P<tag>\d{12})_(?P<product>.+)\.\w+",
    re.IGNORECASE,
)
LABEL = r".+\.xml"
READING = re.compile(r"(?:\d+/)?(?P<seconds>\d{1,10})(?:[-.:](?P<ticks>\d{1,5}))?")
DRIVE = re.compile(r"[A-Za-z]:")
TICKS_PER_S = 65536
NS_PER_S = 1_000_000_000
COLLECTIONS = {"Product_Bundle": "bundle", "Product_Collection": "collection"}


@dataclass(frozen=True, kw_only=True)
class ProductName:
    """What a file's name tells: the packet's kind, the sol and the clock's seconds at its begin, those at its end."""

    apid: int
    sol: int
    start_s: int
    end_s: int
    tag: str  # yymmddhhmmss of no use: neither the start nor the end
    product: str


@dataclass(frozen=True, kw_only=True)
class Product:
    """A file of the archive, with what its name tells and what its label says, as far as there are any."""

    file: str
    name: ProductName | None
    label: Label | None = None
    label_file: str = ""

    @property
    def described(self) -> LabelledFile | None:
        """What the label says of this file."""
        return None if self.label is None else self.label.file(last_part(self.file))

    @property
    def start_ns(self) -> int | None:
        """The clock's reading in nanoseconds where the file begins, by its name, else by its label."""
        if self.name is not None:
            return self.name.start_s * NS_PER_S
        return None if self.label is None else reading_ns(self.label.texts.get("spacecraft_clock_start", ""))


@dataclass(frozen=True, kw_only=True)
class Labels:
    """The labels of an archive by the file that they describe (folder and name in lower case), and their own files."""

    of_file: dict[str, tuple[str, Label]] = field(default_factory=dict)
    files: list[str] = field(default_factory=list)


def name_from_file(file: str) -> ProductName | None:
    """What a file's name tells, None where it is another name."""
    found = NAME.fullmatch(last_part(file))
    if found is None:
        return None
    return ProductName(
        apid=int(found["apid"]),
        sol=int(found["sol"]),
        start_s=int(found["start"]),
        end_s=int(found["end"]),
        tag=found["tag"],
        product=found["product"].lower(),
    )


def reading_ns(text: str) -> int | None:
    """The clock's reading in nanoseconds of text such as `1/0615088547-32768`: seconds, and ticks of 1/65536."""
    found = READING.fullmatch(text.strip())
    if found is None:
        return None
    return int(found["seconds"]) * NS_PER_S + round(int(found["ticks"] or 0) * NS_PER_S / TICKS_PER_S)


def read_labels(archive: Archive, files: Files) -> Labels:
    """All labels; one that cannot be read, or that names a file outside the archive or a missing one, is reported."""
    labels = Labels()
    there = {name.lower() for name in files.names}
    for file in files.matching(LABEL):
        labels.files.append(file)
        try:
            label = label_from_xml(files.read(file))
        except ArchiveError as error:
            archive.defects(Defect(file=file, kind="unreadable_label", message=str(error)))
            continue
        _note_collection(archive, file, label)
        for described in label.files:
            place = _path_of(file, described.name)
            if place is None:
                message = (
                    f"expected the name of a file beside the label, got '{described.name}', which leaves the archive"
                )
                archive.defects(Defect(file=file, kind="unsafe_path", row=described.line, message=message))
            elif place.lower() in there:
                labels.of_file[place.lower()] = (file, label)
            elif label.product_class not in COLLECTIONS:
                message = f"expected the file {described.name} that the label describes beside it, got none"
                archive.lack(file, message)
    return labels


def _path_of(label_file: str, name: str) -> str | None:
    """The path in the archive of a file that a label names, None where it leads out of the archive."""
    path = name.replace("\\", "/")
    inside = posixpath.normpath(posixpath.join(posixpath.dirname(label_file), path))
    return None if DRIVE.match(path) or leaves_archive(inside) else inside


def _note_collection(archive: Archive, file: str, label: Label) -> None:
    if label.product_class in COLLECTIONS:
        archive.notes.append(f"{file}: {COLLECTIONS[label.product_class]} {label.lid}, version {label.version}")


def products_of(files: Files, pattern: str, labels: Labels) -> list[Product]:
    """The files of one kind, in the order of their kinds of packets and of the clock."""
    found = []
    for file in files.matching(pattern):
        label_file, label = labels.of_file.get(file.lower(), ("", None))
        found.append(Product(file=file, name=name_from_file(file), label=label, label_file=label_file))
    return sorted(found, key=_order)


def _order(product: Product) -> tuple[int, int, int, str, str]:
    name = product.name
    if name is None:
        return 1, 0, 0, "", product.file
    return 0, name.apid, name.start_s, name.tag, product.file


def check_names(archive: Archive, products: list[Product]) -> None:
    """Report where a label contradicts the name of its file, in identity, sol or clock."""
    for product in products:
        for message in _contradictions(product):
            archive.defects(Defect(file=product.label_file, kind="label_mismatch", message=message))


def _contradictions(product: Product) -> Iterator[str]:
    label, name, described = product.label, product.name, product.described
    if label is None or described is None:
        return
    stem = last_part(product.file).rpartition(".")[0].lower()
    if label.lid and label.lid.rpartition(":")[2].lower() != stem:
        yield f"expected an identifier that ends in {stem}, got {label.lid}"
    if name is None:
        return
    said = {"start_sol_number": name.sol, "spacecraft_clock_start": name.start_s, "spacecraft_clock_stop": name.end_s}
    for tag, expected in said.items():
        text = label.texts.get(tag, "")
        value = reading_ns(text)
        if value is not None and abs(value - expected * NS_PER_S) >= NS_PER_S:
            yield f"{tag}: expected {expected} as the file's name has it, got {text}"


def check_sizes(archive: Archive, files: Files, products: list[Product]) -> None:
    """Report files that are shorter or longer than their label says."""
    for product in products:
        described = product.described
        if described is None or described.size is None:
            continue
        size = files.size(product.file)
        if size != described.size:
            message = f"expected {described.size} bytes by the label {product.label_file}, got {size}"
            archive.defects(Defect(file=product.file, kind="label_mismatch", message=message))
