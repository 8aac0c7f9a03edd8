"""Records for tests, as a source of records gives them, made of messages by hand."""

from collections.abc import Iterable

from fieldplay.recording.bag_source import BatchDecoder
from fieldplay.recording.record_source import RecordBatch
from fieldplay_testing.messages_by_hand import Stamped, message_batch


def batch(topic: str, messages: Iterable[Stamped], decoder: BatchDecoder | None = None) -> RecordBatch:
    """The records of messages of one topic."""
    return (decoder or BatchDecoder()).decoded(message_batch(topic, messages))
