"""The settings of Fast DDS that playing pictures and clouds needs, unless the user has others."""

import os
import re
from pathlib import Path

from fieldplay.core.resources import config_folders

FILES = {"FASTRTPS_DEFAULT_PROFILES_FILE": "fastdds.xml", "FASTDDS_DEFAULT_PROFILES_FILE": "fastdds3.xml"}
SINCE_3 = 9  # the version of ROS 2's layer on Fast DDS that has Fast DDS 3, which knows the second of these alone
VERSION = re.compile(r"<version>\s*(\d+)")


def use_profile() -> dict[str, str]:
    """Name the workspace's profile to Fast DDS, for what this process creates from now on, unless there is another.

    The variable of the environment that does so, and its value.
    """
    if any(os.environ.get(name) for name in FILES):
        return {}
    name, file = list(FILES.items())[_has_version_3()]
    found = next((path for folder in config_folders() if (path := folder / file).is_file()), None)
    if found is None:
        return {}
    os.environ[name] = str(found)
    return {name: str(found)}


def _has_version_3() -> bool:
    for prefix in filter(None, os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep)):
        description = Path(prefix, "share", "rmw_fastrtps_cpp", "package.xml")
        if description.is_file():
            version = VERSION.search(description.read_text(errors="replace"))
            return version is not None and int(version[1]) >= SINCE_3
    return False
