"""What a run measured of each step, as lines to write below the step's name."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fieldplay.core.errors import UsageError

LARGEST = 16 << 20
Lines = Mapping[str, tuple[str, ...]]  # by the step


def lines_of_file(path: Path) -> Lines:
    """What the statistics of `fieldplay fuse --stats` say of each step; UsageError where it is no such file."""
    if not path.is_file() or path.stat().st_size > LARGEST:
        raise UsageError(f"{path}: expected a file of statistics, as fieldplay fuse --stats writes it")
    try:
        steps = json.loads(path.read_text(encoding="utf-8"))["steps"]
        return {str(step["name"]): _lines(step) for step in steps}
    except (ValueError, LookupError, TypeError) as error:
        raise UsageError(f"{path}: expected statistics, as fieldplay fuse --stats writes them: {error!r}") from None


def lines_of_step(lines: Lines, name: str) -> tuple[str, ...]:
    """What was measured of a step; of a whole chain in its place, how many steps that is."""
    inner = [step for step in lines if step.startswith(f"{name}.")]
    return lines.get(name, (f"{len(inner)} steps",) if inner else ())


def _lines(step: Mapping[str, Any]) -> tuple[str, ...]:
    if not step["calls"]:
        return ("no calls",)
    failures = f", {step['failures']} failed" if step["failures"] else ""
    times = f"{1e3 * step['wall_s']['mean']:.1f} ms, CPU {1e3 * step['cpu_s']['mean']:.1f} ms"
    return f"{step['calls']} calls{failures}", times
