"""Stand-in for the ``ros2`` command: launch, run, topic and service."""


def __getattr__(name: str) -> object:
    raise AttributeError(f"module 'ros2cli' has no attribute '{name}': this stand-in is the command alone, not its API")
