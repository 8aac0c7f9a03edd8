"""The base of all events."""


class Event:
    """Something that happened in the launched system, or that shall happen."""

    name = "launch.Event"
