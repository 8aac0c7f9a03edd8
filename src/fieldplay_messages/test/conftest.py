"""How a run of these tests begins, the workspace's conftest.py not being there."""

from fieldplay_testing.session import pytest_configure as pytest_configure
