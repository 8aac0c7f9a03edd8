"""The command `list`: the datasets that fieldplay knows."""

import argparse
from importlib import import_module

from fieldplay.cli.terminal import print_line
from fieldplay.datasets.registry import dataset_files
from fieldplay.datasets.spec import spec_from_file

PIPELINES = "fieldplay_cdff.pipeline.chains"


def add_arguments(_: argparse.ArgumentParser) -> None:
    """None."""


def run(_: argparse.Namespace) -> int:
    """One line for each dataset: its name, what it is, and what its reader rests on; then the pipelines' names."""
    pipeline_files = import_module(PIPELINES).pipeline_files

    for name, path in sorted(dataset_files().items()):
        spec = spec_from_file(path)
        print_line(f"{name:10}  {spec.title} [{spec.status}]")
    print_line(f"fuse        pipelines of fusion on any of them, or on a bag: {', '.join(sorted(pipeline_files()))}")
    return 0
