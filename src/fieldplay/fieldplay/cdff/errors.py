"""What the tools say when they are asked for what cannot be, or given what cannot be read."""

from fieldplay_messages.errors import ArchiveError


class WordError(Exception):
    """A stream, a time or another word of the command line that fits nothing; the message is fit for a user."""


class DescriptionError(ArchiveError):
    """A description that cannot be read at all."""
