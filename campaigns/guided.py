"""Inputs that coverage guides: which of them reach something new is looked at, and those are changed further.

./ws exec python -m campaigns.guided KIND [KIND ...] --seconds S [--seed N]
"""

import argparse
import atexit
import importlib
import io
import os
import random
import re
import subprocess
import sys
import time
import traceback
from contextlib import redirect_stderr
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

os.environ.update(POLARS_MAX_THREADS="1", OPENBLAS_NUM_THREADS="1")  # an input is small; before these are loaded
sys.path.append(str(Path(__file__).parents[1] / "test"))  # small archives, which tests have too

from campaigns.frame import MORE_MEMORY, Inputs, Summary, judge, keep, limit_memory, say
from campaigns.mutations import BYTES, LARGEST, LINES, changed

OURS = ("fieldplay", "fieldplay_cdff")
HEADED = ("bags", "settings", "trajectories")  # whose first line says how the rest is looked at
FAILED = 3
FRESH = 0.02  # the share of inputs that are drawn as the kind draws them
OPTIONS = (
    f"-max_len={LARGEST}",
    "-len_control=0",
    "-timeout=0",
    "-handle_alrm=0",
    "-rss_limit_mb=0",
    "-detect_leaks=0",
)
COVERED = re.compile(r"cov: (\d+) .*?corp: (\d+)/")


class Guided:
    """What the fuzzer calls, again and again until the time is up; then it ends the process."""

    def __init__(
        self, kind: str, inputs: Inputs, fuzzer: Any, *, chosen: argparse.Namespace, message: IO[bytes]
    ) -> None:
        self._summary = Summary(f"guided-{kind}", chosen.seed)
        self._inputs, self._fuzzer, self._told, self._keep = inputs, fuzzer, message, chosen.keep
        self._is_headed = kind in HEADED
        self._begin = time.monotonic()
        self._until = self._begin + chosen.seconds

    def look(self, data: bytes) -> None:
        """Look at an input, which is judged as all others are."""
        if len(data) > 1:  # else it is one of the fuzzer's own, before it asks for others
            judge(self._summary, self._inputs, data, self._summary.inputs)
        if time.monotonic() > self._until:
            self._end()

    def changed(self, data: bytes, most: int, seed: int) -> bytes:
        """An input made of another, by our changes or by those of the fuzzer, which knows what was compared."""
        draw = random.Random(seed)
        if len(data) < 2 or draw.random() < FRESH:
            return self._inputs.mutated(draw)[:most]
        head, feed, rest = data.partition(b"\n") if self._is_headed else (b"", b"", data)
        if draw.random() < 0.5:
            rest = changed(draw, rest, draw.choice((BYTES, LINES)))
        else:
            rest = self._fuzzer.Mutate(rest[:LARGEST], LARGEST)
        return (head + feed + rest)[:most]

    def _end(self) -> None:
        self._summary.seconds = time.monotonic() - self._begin
        say(self._summary.line())
        self._told.seek(0)
        covered = COVERED.findall(self._told.read().decode("utf-8", "replace"))
        first, last = (covered[0], covered[-1]) if covered else (("0", "0"), ("0", "0"))
        say(f"  branches seen: {first[0]} at first, {last[0]} in the end, by {last[1]} inputs")
        for issue in self._summary.kept:
            say(f"  kept: {keep(issue, self._keep, self._inputs.suffix)}")
        atexit._run_exitfuncs()
        os._exit(int(self._summary.faults.total() > 0))  # the fuzzer ends in no other way


def main() -> int:
    """The exit code: 1 where an input failed, 2 where there is no fuzzer."""
    parser = argparse.ArgumentParser(prog="campaigns.guided", description=__doc__)
    parser.add_argument("kinds", nargs="+", metavar="KIND", help="as of campaigns")
    parser.add_argument("--seconds", type=float, default=60.0, help="so long for each kind")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, default=Path("bags/campaigns"), help="where inputs that failed are put")
    chosen = parser.parse_args()
    try:
        fuzzer = importlib.import_module("atheris")
    except ImportError:
        say("campaigns.guided needs atheris: pip install atheris, on CPython 3.11")
        return 2
    if len(chosen.kinds) > 1:
        options = ["--seconds", str(chosen.seconds), "--seed", str(chosen.seed), "--keep", str(chosen.keep)]
        arguments = [sys.executable, "-m", "campaigns.guided", *options]
        return max(subprocess.run([*arguments, kind], check=False).returncode for kind in chosen.kinds)
    guide(chosen.kinds[0], fuzzer, chosen)
    return 0


def guide(kind: str, fuzzer: Any, chosen: argparse.Namespace) -> None:
    """Look at inputs of a kind until the time is up, and end this process."""
    with redirect_stderr(io.StringIO()), fuzzer.instrument_imports(include=OURS):  # which names each module
        kinds = importlib.import_module("campaigns.kinds").KINDS
    if kind not in kinds:
        raise SystemExit(f"there is no kind {kind}; there are {', '.join(kinds)}")
    inputs = kinds[kind]()
    with TemporaryFile() as message:
        os.dup2(message.fileno(), 2)  # where the fuzzer says what is covered
        limit_memory(4 * MORE_MEMORY)  # what it keeps, and what libraries do, is in it too
        guided = Guided(kind, inputs, fuzzer, chosen=chosen, message=message)
        fuzzer.Setup([kind, f"-seed={chosen.seed}", *OPTIONS], guided.look, custom_mutator=guided.changed)
        try:
            fuzzer.Fuzz()
        finally:  # only an error of its own brings it here, and it would wait for ever where Python ends
            say(traceback.format_exc())
            os._exit(FAILED)


if __name__ == "__main__":
    sys.exit(main())
