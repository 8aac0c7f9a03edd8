"""How a run of these tests begins, the workspace's conftest.py not being there."""

from fieldplay_testing.session import pytest_collection_finish as pytest_collection_finish
from fieldplay_testing.session import pytest_collection_modifyitems as pytest_collection_modifyitems
from fieldplay_testing.session import pytest_configure as pytest_configure
from fieldplay_testing.session import pytest_ignore_collect as pytest_ignore_collect
from fieldplay_testing.session import pytest_terminal_summary as pytest_terminal_summary
