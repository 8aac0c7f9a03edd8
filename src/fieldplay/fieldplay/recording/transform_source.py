"""Transforms of a source as a tree of frames."""

from collections import Counter

import numpy as np

from fieldplay.geometry.frames import Frames
from fieldplay.messages.records import Transforms
from fieldplay.recording.record_source import RecordBatch

TF = "tf2_msgs/msg/TFMessage"
STATIC = "tf_static"
LARGEST = 1e8  # metres that a transform can have
LEAST_QUATERNION = 1e-9


class FrameReader:
    """Puts transforms into a tree, and counts those that are none, by topic and frames."""

    def __init__(self, frames: Frames) -> None:
        self._frames = frames
        self.unusable: Counter[str] = Counter()

    def add(self, batch: RecordBatch) -> None:
        """Further transforms; those on a topic tf_static hold for ever."""
        is_static = batch.topic.name.rpartition("/")[2] == STATIC
        for record, *_ in batch.records:
            if isinstance(record, Transforms):
                for index in range(len(record.children)):
                    self._add(batch.topic.name, record, index, is_static=is_static)

    def _add(self, topic: str, record: Transforms, index: int, *, is_static: bool) -> None:
        parent, child = (names[index].lstrip("/") for names in (record.parents, record.children))
        values = np.concatenate([record.translation_m[:, index], record.rotation_xyzw[:, index]], axis=1)
        known = np.ones(len(record), bool) if record.known is None else record.known[:, index]
        usable = (np.abs(values) < LARGEST).all(axis=1) & (np.abs(values[:, 3:]).max(axis=1) > LEAST_QUATERNION)
        if not usable[known].all():
            self.unusable[f"{topic}: {parent} to {child}"] += int((~usable & known).sum())
        usable &= known
        if usable.any() and parent != child:
            stamp_ns = record.stamp_ns[usable]
            self._frames.add(parent, child, is_static=is_static, stamp_ns=stamp_ns, values=values[usable])
