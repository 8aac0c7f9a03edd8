"""A bag as an archive without a dataset."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from fieldplay.bags.bag_stream import BagStream
from fieldplay.bags.bag_topics import Bag
from fieldplay.bags.open_bag import open_joined_bag, reading_of_parameters
from fieldplay.bags.qos import is_of_jazzy, undefined_types
from fieldplay.core.errors import BagError, Defect
from fieldplay.datasets.archive import WARNING, Archive, chosen_parameters
from fieldplay.datasets.origins import Origin, origin_of
from fieldplay.datasets.spec import DatasetSpec
from fieldplay.messages.cdr_layout import typestore
from fieldplay.messages.stream_spec import StreamSpec


def open_archive(root: Path, spec: DatasetSpec, parameters: Mapping[str, Any], *, more: Sequence[Path] = ()) -> Archive:
    """Open a bag, or with `more` several as one; what is wrong is reported, what is worth knowing noted."""
    chosen = chosen_parameters(spec, parameters)
    reading = reading_of_parameters(chosen)
    archive = Archive(root=root, spec=spec, parameters=chosen)
    with archive.on_close:
        try:
            notes = archive.notes
            bag = open_joined_bag([root, *more], archive.defects, lambda text: notes.append(WARNING + text), reading)
        except BagError as error:
            archive.defects(Defect(file=root.name, kind="damaged_bag", message=str(error)))
            return archive
        archive.on_close.callback(bag.close)
        archive.streams = {name: BagStream(bag, name) for name in bag.indexed}
        archive.bag, archive.origin = bag, origin_of(bag)
        archive.spec = _spec_of_bag(spec, bag, archive.origin)
        archive.recording = {} if archive.origin is None else {k: str(v) for k, v in archive.origin.recording.items()}
        _note_types(archive, bag)
        archive.on_close = archive.on_close.pop_all()
    return archive


def _spec_of_bag(spec: DatasetSpec, bag: Bag, origin: Origin | None) -> DatasetSpec:
    """The description of a bag, with what the dataset says of its topics where it was made of one's archive."""
    streams = {name: StreamSpec(id=name, topic=name, type=topic.kind.msgtype) for name, topic in bag.indexed.items()}
    if origin is None:
        return replace(spec, title=bag.title, streams=tuple(streams.values()))
    own = {origin.topics[stream.id]: stream for stream in origin.spec.streams if stream.id in origin.topics}
    described_streams = (
        replace(stream, note=own[name].note, units=own[name].units) if name in own else stream
        for name, stream in streams.items()
    )
    return replace(
        spec,
        title=f"{bag.title}, made of an archive of {origin.spec.title} ({origin.spec.name})",
        streams=tuple(described_streams),
        truth=origin.topics.get(origin.spec.truth, ""),
        truth_max_std_m=origin.spec.truth_max_std_m,
        skip_gaps_s=origin.spec.skip_gaps_s,
        projections=origin.spec.projections,
    )


def _note_types(archive: Archive, bag: Bag) -> None:
    """Say of which topics the types are not known, or others than those of ROS 2 Jazzy that are called so."""
    for name, topic in bag.indexed.items():
        kind = topic.kind
        missing = undefined_types(kind)
        if missing:
            what = f"the bag has no definition of {' and '.join(missing)}: it cannot be read without the package"
            archive.notes.append(f"{WARNING}{name}: {what}; --msgs DIR takes a folder of .msg files")
        if kind.msgtype in typestore().fielddefs and not is_of_jazzy(kind):
            what = f"{kind.msgtype} has other fields in the bag than in ROS 2 Jazzy, and stays as it is"
            text = f"{name}: {what}: no subscriber of this ROS 2 can read it"
            archive.notes.append(WARNING + text)
