"""The command `sample`: the datasets that have samples, their settings as options, and what it says when it is done."""

import argparse
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

from fieldplay.cli.arguments import parameters
from fieldplay.cli.parser import CommandParser
from fieldplay.cli.terminal import note, print_line, progress_bar
from fieldplay.core.errors import UsageError
from fieldplay_samples.output_folder import SampleError
from fieldplay_samples.write_sample import (
    SampleOptions,
    Value,
    datasets,
    settings_of,
    usual_seconds,
    write_sample,
)

FAILED = 1
EPILOG = """\
examples:
  fieldplay sample ameds etna.zip --zip --seconds 20
  fieldplay sample sherpatt morocco --seed 2
"""


def add_arguments(parser: CommandParser) -> None:
    """A parser for each dataset, whose own settings are options."""
    subparsers = parser.add_subparsers(required=True, metavar="DATASET", dest="dataset")
    defaults = SampleOptions()
    for dataset in datasets():
        text = f"a synthetic archive of {dataset} in its published layout, with a truth file next to it"
        sub = subparsers.add_parser(dataset, help=text, description=f"Write {text}.")
        sub.set_defaults(run=run, parser=sub)
        sub.add_argument("out", metavar="OUT", type=Path, help="the archive; OUT.truth.csv is written next to it")
        with sub.section("sample"):
            sub.add_argument("--seconds", type=float, metavar="S", help="duration (default: 20, or that of a route)")
            sub.add_argument("--seed", type=int, default=defaults.seed, metavar="N", help="seed of world and noise")
            sub.add_argument("--zip", action="store_true", help="write a zip, as downloaded, instead of a folder")
        with sub.section("settings"):
            sub.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="any of the following")
            for name, default in settings_of(dataset).items():
                _add_setting(sub, name, default)


def _add_setting(parser: argparse.ArgumentParser, name: str, default: Value) -> None:
    option = f"--{name.replace('_', '-')}"
    if isinstance(default, bool):
        action = argparse.BooleanOptionalAction
        parser.add_argument(option, dest=name, action=action, default=default, help=f"(default: {default})".lower())
    else:
        parser.add_argument(option, dest=name, default=default, metavar="VALUE", help=f"(default: {default})")


def run(chosen: argparse.Namespace) -> int:
    """Write a sample."""
    settings = {name: getattr(chosen, name) for name in settings_of(chosen.dataset)}
    settings |= parameters(chosen.set)
    try:
        seconds = usual_seconds(chosen.dataset, settings) if chosen.seconds is None else chosen.seconds
        options = SampleOptions(seconds=seconds, seed=chosen.seed, zip=chosen.zip, settings=settings)
        with progress_bar("making the sample", "steps") as bar:
            result = write_sample(
                chosen.dataset, chosen.out, options, progress=lambda done, total: bar(done / max(total, 1), done)
            )
    except SampleError as error:
        raise UsageError(str(error)) from None
    except BrokenProcessPool:
        note("a worker process that renders images and clouds died (out of memory?); no output was kept")
        return FAILED
    again = " (it was there already)" if result.reused else ""
    print_line(f"{result.path}: {seconds:g} s of {chosen.dataset}{again}; ground truth: {result.truth}")
    return 0
