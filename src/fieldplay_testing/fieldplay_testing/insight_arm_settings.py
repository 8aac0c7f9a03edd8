"""The settings of the lander's arm as its dataset's description has them."""

from pathlib import Path
from typing import Any

import yaml

from fieldplay.core.resources import config_folders
from fieldplay.core.yaml_safe import LOADER


def arm_description() -> dict[str, Any]:
    """Load the complete description."""
    files = (folder / "datasets" / "ida.yaml" for folder in config_folders())
    description: dict[str, Any] = yaml.load(next(filter(Path.is_file, files)).read_text("utf-8"), LOADER)
    return description


def arm_settings(**others: Any) -> dict[str, Any]:
    """Those of the arm, some of them others."""
    (arm,) = (derived for derived in arm_description()["derived"] if derived["kind"] == "lander_arm")
    return {**arm["settings"], **others}
