"""The hook by which other packages claim launch test modules."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


@pytest.hookspec(firstresult=True)
def pytest_launch_collect_makemodule(
    path: Path, parent: pytest.Collector, entrypoint: Callable[..., Any]
) -> pytest.Collector | None:
    """Make the collector of a module whose generate_test_description is `entrypoint`.

    None leaves the module to the next plugin, and at last to pytest's ordinary collection.
    """
