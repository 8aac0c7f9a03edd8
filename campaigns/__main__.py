"""The command: ./ws exec python -m campaigns KIND [KIND ...] --inputs N | --seconds S [--seed N]."""

import argparse
import faulthandler
import os
import sys
from collections import Counter
from pathlib import Path

os.environ.update(POLARS_MAX_THREADS="1", OPENBLAS_NUM_THREADS="1")  # an input is small; before these are loaded
sys.path.append(str(Path(__file__).parents[1] / "test"))  # small archives, which tests have too

from campaigns.frame import MORE_MEMORY, campaign, fault_of, keep, limit_memory, say
from campaigns.kinds import KINDS


def main() -> int:
    """The exit code: 1 where an input failed."""
    parser = argparse.ArgumentParser(prog="campaigns", description=__doc__)
    parser.add_argument("kinds", nargs="+", choices=list(KINDS), metavar="KIND", help=", ".join(KINDS))
    parser.add_argument("--inputs", type=int, help="so many of each kind")
    parser.add_argument("--seconds", type=float, help="so long for each kind")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="the number of the first input")
    parser.add_argument("--keep", type=Path, default=Path("bags/campaigns"), help="where inputs that failed are put")
    parser.add_argument("--replay", type=Path, nargs="+", default=[], help="look at these files instead")
    chosen = parser.parse_args()
    by_name = {kind: KINDS[kind]() for kind in chosen.kinds}
    faulthandler.enable(os.fdopen(os.dup(2), "w"))
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # libraries complain of each picture, for which pages do not suffice
    failed = 0
    for kind, inputs in by_name.items():
        limit_memory(MORE_MEMORY)
        for path in chosen.replay:
            text: Counter[str] = Counter()
            what = fault_of(inputs, path.read_bytes(), is_twice=True, word=text)
            say(f"{path}: {what[1] if what else ', '.join(text)}")
            failed += what is not None
        if chosen.replay:
            continue
        most = chosen.inputs if chosen.inputs or chosen.seconds else 1000
        summary = campaign(
            kind, inputs, seed=chosen.seed, first=chosen.first, most=most, seconds=chosen.seconds
        )  # fmt: skip
        say(summary.line())
        for issue in summary.kept:
            say(f"  kept: {keep(issue, chosen.keep, inputs.suffix)}")
        failed += summary.faults.total()
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
