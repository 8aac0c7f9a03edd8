"""The settings of Fast DDS that playing pictures and clouds needs, unless the user has others."""

import os
from pathlib import Path

from fieldplay_messages.config import config_folders

VARIABLES = ("FASTRTPS_DEFAULT_PROFILES_FILE", "FASTDDS_DEFAULT_PROFILES_FILE")
FILE = "fastdds.xml"


def use_profile() -> Path | None:
    """Name the workspace's profile to Fast DDS, for what this process creates from now on, unless there is another."""
    if any(os.environ.get(name) for name in VARIABLES):
        return None
    found = next((path for folder in config_folders() if (path := folder / FILE).is_file()), None)
    if found is not None:
        os.environ[VARIABLES[0]] = str(found)
    return found
