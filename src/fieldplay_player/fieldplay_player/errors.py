"""What can go wrong with playing."""


class PlayError(Exception):
    """Playing cannot be done as asked; the message is fit for a user."""
