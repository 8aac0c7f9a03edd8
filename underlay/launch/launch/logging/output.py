"""The loggers for what processes write."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping

from .config import launch_config

OutputConfig = str | Mapping[str, str | Iterable[str]]

_SOURCES = ("stdout", "stderr", "both")
_DESTINATIONS = ("screen", "log", "own_log")
_ALIASES: dict[str, dict[str, set[str]]] = {
    "screen": {"both": {"screen"}},
    "log": {"both": {"log"}, "stderr": {"screen"}},
    "both": {"both": {"log", "screen"}},
    "own_log": {source: {"own_log"} for source in _SOURCES},
    "full": {"both": {"screen", "log", "own_log"}, "stdout": {"own_log"}, "stderr": {"own_log"}},
}


def _normalized(config: OutputConfig) -> dict[str, set[str]]:
    if isinstance(config, str):
        if config not in _ALIASES:
            raise ValueError(f"'{config}' is not a valid output configuration, expected one of {', '.join(_ALIASES)}")
        return _ALIASES[config]
    if not isinstance(config, Mapping):
        raise ValueError(f"{config!r} is not a valid output configuration")
    normalized = {key: {value} if isinstance(value, str) else set(value) for key, value in config.items()}
    for source, destinations in normalized.items():
        if source not in _SOURCES:
            raise ValueError(f"'{source}' is not a valid output source, expected one of {', '.join(_SOURCES)}")
        for wrong in destinations.difference(_DESTINATIONS):
            raise ValueError(f"'{wrong}' is not a valid output destination, expected one of {', '.join(_DESTINATIONS)}")
    return normalized


def get_output_loggers(process_name: str, output_config: OutputConfig) -> tuple[logging.Logger, logging.Logger]:
    """Return the loggers for the standard output and the standard error of a process.

    The configuration maps 'stdout', 'stderr' and 'both' to destinations out of 'screen', 'log' and 'own_log', or is
    one of the names 'screen', 'log', 'both', 'own_log' and 'full'.
    """
    config = _normalized(output_config)
    stdout, stderr = (_source_logger(process_name, source, config) for source in ("stdout", "stderr"))
    return stdout, stderr


def _source_logger(process_name: str, source: str, config: dict[str, set[str]]) -> logging.Logger:
    own, both = config.get(source, set()), config.get("both", set())
    plain = logging.Formatter("{msg}", style="{")
    handlers: list[logging.Handler] = []
    if "screen" in own | both:
        handlers.append(launch_config._raw_screen_handler)
    if "log" in own | both:
        stamped = logging.Formatter("{created:.7f} {msg}", style="{")
        handlers.append(launch_config._file_handler("launch.log, output", "launch.log", stamped))
    for name, wanted in ((f"{process_name}-{source}.log", own), (f"{process_name}.log", both)):
        if "own_log" in wanted:
            handlers.append(launch_config._file_handler(name, name, plain))
    logger = logging.getLogger(f"{process_name}-{source}")
    launch_config._attach(logger, handlers)
    return logger
