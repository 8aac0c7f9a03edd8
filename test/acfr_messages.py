"""What becomes of an archive of ACFR: the messages of the bag that it is converted to."""

from pathlib import Path
from typing import Any

from rosario_messages import EVERYTHING, Messages
from rosario_messages import messages_of as messages_of_any

from fieldplay_player.options import Selection


def messages_of(root: Path, selection: Selection = EVERYTHING, **parameters: Any) -> Messages:
    """All messages with their times, by topic below the namespace, as rosbags reads them."""
    found = messages_of_any(root, selection, **parameters)
    return {topic.removeprefix("/acfr/"): messages for topic, messages in found.items()}
