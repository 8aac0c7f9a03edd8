"""What can go wrong with a bag."""


class BagError(Exception):
    """A bag that cannot be written; the message is fit for a user."""
