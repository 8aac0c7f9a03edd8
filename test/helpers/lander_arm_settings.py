"""The settings of the lander's arm as its dataset's description has them."""

from typing import Any

import yaml

from fieldplay_archive.datasets import dataset_files
from fieldplay_messages.yaml_text import LOADER


def described() -> dict[str, Any]:
    """The whole description."""
    found: dict[str, Any] = yaml.load(dataset_files()["ida"].read_text("utf-8"), LOADER)
    return found


def arm_settings(**others: Any) -> dict[str, Any]:
    """Those of the arm, some of them others."""
    (arm,) = (derived for derived in described()["derived"] if derived["kind"] == "lander_arm")
    return {**arm["settings"], **others}
