"""Fast DDS for these tests, and for the processes that they start: quick to find each other."""

import os
from pathlib import Path

import pytest

PROFILES = "FASTRTPS_DEFAULT_PROFILES_FILE"


@pytest.fixture(scope="module", autouse=True)
def quick_discovery():
    """Use the profile of this folder, unless the test run as a whole uses one."""
    with pytest.MonkeyPatch.context() as patch:
        if PROFILES not in os.environ:
            patch.setenv(PROFILES, str(Path(__file__).with_name("quick_discovery.xml")))
        yield
