"""The archive that a bag of ours was converted from, in the custom data of its metadata."""

import json
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from fieldplay.bags.bag_stream import BagStream, Serialized
from fieldplay.bags.bag_topics import Bag
from fieldplay.core.errors import UserError
from fieldplay.core.resources import own_version
from fieldplay.datasets.archive import Archive, chosen_parameters
from fieldplay.datasets.registry import dataset_files, spec_of_dataset
from fieldplay.datasets.spec import DatasetSpec
from fieldplay.messages.records import LaserScans, Record, concatenate

DATASET, VERSION = "fieldplay.dataset", "fieldplay.version"
PARAMETERS, RECORDING = "fieldplay.parameters", "fieldplay.recording"  # JSON


def custom_data_of(archive: Archive) -> dict[str, str]:
    """What a bag made of an archive says of it; one made of a bag says what that said."""
    if archive.bag is not None:
        return dict(archive.bag.custom_data)
    return {
        DATASET: archive.spec.name,
        VERSION: own_version(),
        PARAMETERS: json.dumps(dict(archive.parameters)),
        RECORDING: json.dumps(archive.recording),
    }


@dataclass(frozen=True, kw_only=True)
class Origin:
    """The archive of which a bag was made: its dataset and parameters, and the bag's topics by the dataset's streams.

    `recording` is what the dataset knows of the recording: name, area, condition, notes.
    """

    spec: DatasetSpec
    parameters: Mapping[str, Any]
    recording: Mapping[str, Any]
    topics: Mapping[str, str]  # by stream

    @cached_property
    def namespace(self) -> str:
        """What stands before the dataset's topics in the bag."""
        own = {stream.id: stream.topic for stream in self.spec.streams}
        prefixes = Counter(
            topic.removesuffix(own[stream]).strip("/")
            for stream, topic in self.topics.items()
            if not own[stream].startswith("/")
        )
        return prefixes.most_common(1)[0][0] if prefixes else self.spec.namespace


def origin_of(bag: Bag) -> Origin | None:
    """The archive that a bag was converted from, if it is of a known dataset."""
    custom_data = bag.custom_data
    if custom_data.get(DATASET) not in dataset_files():
        return None
    spec = spec_of_dataset(custom_data[DATASET])
    parameters, recording = _map_of_json(custom_data.get(PARAMETERS)), _map_of_json(custom_data.get(RECORDING))
    known = {name: value for name, value in parameters.items() if name in spec.parameters}
    try:
        chosen = chosen_parameters(spec, known)
    except UserError:  # of another version
        chosen = chosen_parameters(spec, {})
    topics = _topics_by_stream(spec, bag.indexed)
    return Origin(spec=spec, parameters=chosen, recording=recording, topics=topics)


def _map_of_json(text: str | None) -> dict[str, Any]:
    try:
        content = json.loads(text or "{}")
    except ValueError:
        return {}
    return content if isinstance(content, dict) else {}


def _topics_by_stream(spec: DatasetSpec, names: Collection[str]) -> dict[str, str]:
    """The topic of each stream: that of the dataset's namespace, else the only one that ends as it is called."""
    topics: dict[str, str] = {}
    for stream in spec.streams:
        own = stream.topic if stream.topic.startswith("/") else f"/{spec.namespace}/{stream.topic}"
        matches = [name for name in names if name.endswith("/" + stream.topic.strip("/"))]
        if own in names:
            topics[stream.id] = own
        elif len(matches) == 1:
            topics[stream.id] = matches[0]
    return topics


class DecodedStream:
    """A topic of a bag as a stream of records, as an archive's streams are."""

    def __init__(self, stream: BagStream) -> None:
        self._stream = stream
        self.spans = stream.spans

    def load(self, index: int) -> Record:
        """The rows of a span in the order in which they were logged; messages that cannot be read are left out."""
        record = self._stream.load(index)
        parts = [framed.record for framed in record.framed_records(np.arange(len(record)))]
        if not parts:
            return Record(stamp_ns=np.zeros(0, np.int64))
        whole = concatenate([_of_width(part, parts) for part in parts])
        order = np.argsort(whole.leaves_ns, kind="stable")
        return whole if (np.diff(order) == 1).all() else whole.only(order)


def _of_width(record: Record, all_of_them: Sequence[Record]) -> Record:
    """Scans with room for as many ranges as the longest of them; other records as they are."""
    if not isinstance(record, LaserScans):
        return record
    width = max(other.ranges_m.shape[1] for other in all_of_them if isinstance(other, LaserScans))
    padding = ((0, 0), (0, width - record.ranges_m.shape[1]))
    intensities = record.intensities
    return replace(
        record,
        ranges_m=np.pad(record.ranges_m, padding, constant_values=np.nan),
        intensities=None if intensities is None else np.pad(intensities, padding, constant_values=np.nan),
    )


def archive_of_origin(archive: Archive, origin: Origin) -> Archive:
    """A bag as the archive of which it was made, as far as it has its streams."""
    streams = {
        stream: DecodedStream(own)
        for stream, topic in origin.topics.items()
        if isinstance(own := archive.streams.get(topic), BagStream) and _is_readable(own)
    }
    return Archive(
        root=archive.root,
        spec=origin.spec,
        parameters=origin.parameters,
        streams=dict(streams),
        defects=archive.defects,
        recording={name: str(value) for name, value in origin.recording.items()},
    )


def _is_readable(stream: BagStream) -> bool:
    empty = Serialized(stamp_ns=np.zeros(0, np.int64), msgtype=stream.msgtype, load=lambda row: b"")
    return empty.is_readable
