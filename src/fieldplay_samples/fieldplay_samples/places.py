"""Where a sample goes, and whether it may: nothing is ever written over that is not a sample of ours."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from fieldplay_samples.errors import SampleError
from fieldplay_samples.records import SampleRecord, digest_of_path, files_of, read_record

REMEDY = "remove it or name another place"


@dataclass(frozen=True)
class SamplePlaces:
    """The archive, and what stands beside it: its truth and its record."""

    archive: Path
    truth: Path
    record: Path

    def beside(self, name: str) -> Path:
        """A further file of truth, as `OUT.<name>.npz`."""
        return self.truth.with_name(f"{self.truth.name.removesuffix('.truth.csv')}.{name}.npz")


def places_of(out: Path, *, zipped: bool) -> SamplePlaces:
    """The places of a sample that is asked for at `out`, as a zip if that is said or its name does."""
    name = out.name.removesuffix(".zip")
    if not name or name == "..":
        raise SampleError(f"{out}: expected a path that ends in a name")
    archive = out.with_name(f"{name}.zip" if zipped or out.suffix == ".zip" else name)
    return SamplePlaces(
        archive=archive, truth=out.with_name(f"{name}.truth.csv"), record=out.with_name(f"{name}.sample.json")
    )


def record_at(places: SamplePlaces) -> SampleRecord | None:
    """The record of the sample that should be there; None if there is none, or it is another's."""
    record = read_record(places.record)
    return record if record is not None and record.archive == places.archive.name else None


def is_intact(record: SampleRecord, places: SamplePlaces) -> bool:
    """Whether archive and truth are as they were written."""
    if not (places.archive.exists() and places.truth.is_file()):
        return False
    if any(not places.beside(name).is_file() for name in record.beside):
        return False
    if any(digest_of_path(places.beside(name)) != digest for name, digest in record.beside.items()):
        return False
    digests = digest_of_path(places.archive), digest_of_path(places.truth)
    return digests == (record.archive_digest, record.truth_digest)


def refuse_what_is_not_ours(record: SampleRecord | None, places: SamplePlaces) -> None:
    """SampleError unless the places are free, or hold a sample of ours, be it damaged, with no other's file in it."""
    if record is None:
        _refuse_whatever_is_there(places)
        return
    archive = places.archive
    if archive.is_symlink() or (archive.exists() and archive.is_dir() != bool(record.files)):
        raise SampleError(f"{archive} is no longer the sample that was written: {REMEDY}")
    others = sorted(set(files_of(archive)) - set(record.files))
    if others:
        raise SampleError(f"{archive} holds {others[0]}, which is not the sample's: {REMEDY}")


def refuse_others_beside(record: SampleRecord | None, places: SamplePlaces, names: Iterable[str]) -> None:
    """SampleError unless the places of further files of truth are free, or hold those of the sample that is there."""
    known = record.beside if record is not None else {}
    for path in (places.beside(name) for name in names if name not in known):
        if path.exists() or path.is_symlink():
            raise SampleError(f"{path} is there already and not a sample made here: {REMEDY}")


def _refuse_whatever_is_there(places: SamplePlaces) -> None:
    other = read_record(places.record)
    if other is not None:
        raise SampleError(f"{places.truth} belongs to {other.archive}: remove both or name another place")
    for path in (places.archive, places.truth, places.record):
        if path.exists() or path.is_symlink():
            raise SampleError(f"{path} is there already and not a sample made here: {REMEDY}")
