"""The command `info`: what is in an archive, topic by topic."""

import argparse
import json

from fieldplay.cli import bags, summaries
from fieldplay.cli.arguments import add_archive, add_json, opened, parameters_of
from fieldplay.cli.terminal import print_line, progress_bar
from fieldplay.data.bag_data import BagData
from fieldplay_archive.outlets.checks import check_settings
from fieldplay_archive.outlets.selection import Selection


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """ARCHIVE, and how it is told."""
    add_archive(parser)
    add_json(parser)


def run(chosen: argparse.Namespace) -> int:
    """What is in an archive, or in a bag."""
    if bags.is_for_bags(chosen):
        with BagData(chosen.archive, parameters_of(chosen)) as bag:
            rows = bags.summaries_of_bag(bag)
            text = [json.dumps(bags.info_json(bag, rows), indent=2)] if chosen.json else bags.info_lines(bag, rows)
            for line in text:
                print_line(line)
        return 0
    with opened(chosen) as data:
        archive = data.archive
        check_settings(archive)
        with progress_bar("reading", "blocks") as bar:
            found = summaries.summaries(archive, Selection(), progress=bar)
        if chosen.json:
            print_line(json.dumps(summaries.as_json(archive, found), indent=2))
            return 0
        for line in summaries.as_lines(archive, found):
            print_line(line)
        for line in archive.defects.in_short():
            print_line(f"  {line}")
    return 0
