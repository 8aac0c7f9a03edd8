"""The error for launch files that cannot be loaded."""


class InvalidLaunchFileError(Exception):
    """A launch file that cannot be read as a launch description."""
