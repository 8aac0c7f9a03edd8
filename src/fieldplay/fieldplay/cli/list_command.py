"""The command `list`: the datasets that fieldplay knows."""

import argparse
from importlib.metadata import entry_points

from fieldplay.cli.terminal import print_line
from fieldplay.datasets.registry import dataset_files
from fieldplay.datasets.spec import spec_from_file

GROUP = "fieldplay.lists"  # of entry points: functions that give further lines


def add_arguments(_: argparse.ArgumentParser) -> None:
    """None."""


def run(_: argparse.Namespace) -> int:
    """One line for each dataset: its name, what it is, and what its reader rests on; then what packages add."""
    for name, path in sorted(dataset_files().items()):
        spec = spec_from_file(path)
        print_line(f"{name:10}  {spec.title} [{spec.status}]")
    for entry in entry_points(group=GROUP):
        for line in entry.load()():
            print_line(line)
    return 0
