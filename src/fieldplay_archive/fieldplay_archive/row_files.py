"""Files that are one row each, named after their time: pictures and point clouds."""

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from fieldplay_archive.archive import Archive, matching_files, plausible_ns
from fieldplay_archive.files.containers import Files
from fieldplay_archive.files.name_stamps import Fraction, shares_a_second, stamps_from_names
from fieldplay_messages.errors import ArchiveError, Defect
from fieldplay_messages.gaps import GapFinder
from fieldplay_messages.records import Clouds, Pictures
from fieldplay_messages.stamps import NS_PER_S
from fieldplay_messages.streams import FileStream


def timed_files(
    archive: Archive, files: Files, key: str, *, fraction: Fraction = "auto"
) -> tuple[list[str], NDArray[np.int64]]:
    """The files of one kind and their times (n,), without those whose name holds none that can be."""
    names = matching_files(archive, files, key, archive.spec.rows[key])
    texts = [name.encode("utf-8", "replace").decode() for name in names]  # a name need not be text
    try:
        stamp_ns, good = stamps_from_names(texts, fraction=fraction)
    except ArchiveError as error:
        archive.defects(
            Defect(file=archive.spec.rows[key].files, kind="ambiguous_time", stream=key, message=str(error))
        )
        return [], np.zeros(0, np.int64)
    first, last = plausible_ns(archive.spec)
    possible = good & (stamp_ns >= first) & (stamp_ns <= last)
    clash = shares_a_second(texts) & possible
    for row in np.flatnonzero(~possible):
        message = "expected a time in the name, got none"
        if good[row]:
            message = f"expected a time that can be in the name, got {int(stamp_ns[row]) / NS_PER_S:.9g} s"
        archive.defects(Defect(file=names[row], kind="no_time_in_name", stream=key, message=message))
    for row in np.flatnonzero(clash):
        message = "expected a fraction of the second in the name: another file has the same whole second"
        archive.defects(Defect(file=names[row], kind="time_not_unique", stream=key, message=message))
    usable = possible & ~clash
    found, stamp_ns = [names[row] for row in np.flatnonzero(usable)], stamp_ns[usable]
    for defect in _defects_of_order(found, stamp_ns, key):
        archive.defects(defect)
    return found, stamp_ns


def _defects_of_order(names: list[str], stamp_ns: NDArray[np.int64], key: str) -> Iterator[Defect]:
    """The files of a folder that have the time of another there, or come after a gap."""
    folders: dict[str, list[int]] = {}
    for row in np.argsort(stamp_ns, kind="stable").tolist():
        folders.setdefault(names[row].rpartition("/")[0], []).append(row)
    for rows in folders.values():
        times = stamp_ns[rows]
        for place in np.flatnonzero(np.diff(times) == 0).tolist():
            message = f"the time in the name is that of {names[rows[place]]}"
            yield Defect(file=names[rows[place + 1]], kind="duplicate_time", stream=key, message=message)
        for place, gap_ns in GapFinder().gaps(times):
            message = f"no file for {gap_ns / NS_PER_S:.3f} s before this one"
            yield Defect(file=names[rows[place]], kind="gap", stream=key, message=message)


def picture_stream(files: Files, names: list[str], stamp_ns: NDArray[np.int64]) -> FileStream:
    """Pictures, each read when it is asked for."""

    def pictures(names: tuple[str, ...], stamp_ns: NDArray[np.int64]) -> Pictures:
        return Pictures(stamp_ns=stamp_ns, names=names, load=lambda row: files.read(names[row]))

    return FileStream(names, stamp_ns, pictures)


def cloud_stream(
    files: Files, names: list[str], stamp_ns: NDArray[np.int64], decode: Callable[[bytes, str], NDArray[np.void]]
) -> FileStream:
    """Point clouds, each read and decoded (its bytes, its name) when it is asked for."""

    def clouds(names: tuple[str, ...], stamp_ns: NDArray[np.int64]) -> Clouds:
        return Clouds(stamp_ns=stamp_ns, names=names, load=lambda row: decode(files.read(names[row]), names[row]))

    return FileStream(names, stamp_ns, clouds)
