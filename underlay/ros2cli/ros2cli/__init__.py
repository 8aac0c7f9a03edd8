"""Stand-in for the ``ros2`` command."""


def __getattr__(name: str) -> object:
    raise AttributeError(f"module 'ros2cli' has no attribute '{name}': this stand-in is the command alone, not its API")
