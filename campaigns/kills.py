"""Commands are killed at any instant, or disks fail: what they write is absent or complete, the next run is as ever.

./ws exec python -m campaigns.kills [COMMAND ...] --kills N --faults N [--seconds S] [--seed N]
"""

import argparse
import json
import os
import random
import signal
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

os.environ.update(POLARS_MAX_THREADS="1", OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1")  # before these are loaded
sys.path.append(str(Path(__file__).parents[1] / "test"))  # small archives, which tests have too

from campaigns.commands import COMMANDS
from campaigns.disks import Disks
from campaigns.frame import Found, Inputs, WrongError, campaign, fault_of, keep, say
from campaigns.shim import NAMES, WAIT, WRITES, Request, folder_with_shim
from campaigns.stage import Ended, Meddle, Stage

BY_TIME = 0.3  # the share of kills by the clock; the others are at a request, which comes again
PARENT, ALL, SELF = "parent", "all", "self"  # who dies: whom the user began, with all below it, or who just writes
KILLED = -signal.SIGKILL


class Kills(Inputs):
    """An input says when and who, as JSON."""

    suffix = "json"
    slow_s = hangs_s = 900.0  # a stage has limits of its own

    def __init__(self, stage: Stage) -> None:
        self.stage, self.killed = stage, 0

    def mutated(self, draw: random.Random) -> bytes:
        victim = draw.choice([PARENT, ALL, SELF])
        if draw.random() < BY_TIME:
            return json.dumps({"after": round(draw.random(), 4), "victim": draw.choice([PARENT, ALL])}).encode()
        kinds = draw.choice([NAMES, WRITES | NAMES])
        most = sum(self.stage.counts[:2]) if kinds & WRITES else self.stage.counts[1]
        at = 1 + draw.randrange(max(most, 1))
        return json.dumps({"kinds": kinds, "at": at, "is_torn": draw.random() < 0.5, "victim": victim}).encode()

    def look(self, data: bytes) -> Found:
        result = json.loads(data)
        stage = self.stage
        stage.reset()
        request = None
        if "at" in result:
            request = Request(kinds=result["kinds"], action=WAIT, at=result["at"], is_torn=result["is_torn"])
        ended = stage.run(stage.command.words(stage), self._killer(result), request)
        self._judge_end(ended, result["victim"])
        stage.judge_left()
        stage.judge_again()
        self.killed += ended.code != stage.ended.code
        return Found("run", 0)  # whether a kill by the clock comes before the end is another thing each time

    def _killer(self, message: dict[str, Any]) -> Meddle:
        until = time.monotonic() + message.get("after", 0) * self.stage.seconds

        def meddle(leader: int) -> bool:
            waiting = self.stage.shim.waiting
            if not waiting if "at" in message else time.monotonic() < until:
                return False
            if message["victim"] == ALL:
                os.killpg(leader, signal.SIGKILL)
            else:
                os.kill(waiting if message["victim"] == SELF else leader, signal.SIGKILL)
            self.stage.shim.let_go()
            return True

        return meddle

    def _judge_end(self, ended: Ended, victim: str) -> None:
        """Where another than the parent died it tells so; or what died was of no use any more."""
        if ended.code == KILLED or ended.code == self.stage.ended.code:
            return
        if victim != SELF or ended.code != 1 or "Traceback" in ended.told or "fieldplay: " not in ended.told:
            raise WrongError(f"ends with {ended.code}: {ended.told}")


def main() -> int:
    """The exit code: 1 where something is not as it must be."""
    parser = argparse.ArgumentParser(prog="campaigns.kills", description=__doc__)
    parser.add_argument("commands", nargs="*", default=list(COMMANDS), metavar="COMMAND", help=", ".join(COMMANDS))
    parser.add_argument("--kills", type=int, default=0, help="of each command")
    parser.add_argument("--faults", type=int, default=0, help="of disks and archives, for each command")
    parser.add_argument("--seconds", type=float, help="for the kills and for the faults of each command, if less")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="the number of the first")
    parser.add_argument("--keep", type=Path, default=Path("bags/campaigns"), help="where those that failed are put")
    parser.add_argument("--replay", type=Path, nargs="+", default=[], help="these files on one COMMAND instead")
    chosen = parser.parse_args()
    with folder_with_shim() as folder:
        failed = sum(_on_command(name, chosen, folder / name) for name in chosen.commands)
    return int(failed > 0)


def _on_command(name: str, chosen: argparse.Namespace, root: Path) -> int:
    stage = Stage(COMMANDS[name], root)
    kills = Kills(stage)
    kinds: dict[str, tuple[Inputs, int]] = {"kill": (kills, chosen.kills), "disk": (Disks(stage), chosen.faults)}
    for path in chosen.replay:
        text: Counter[str] = Counter()
        inputs, _ = kinds["disk" if b'"ill"' in path.read_bytes() else "kill"]
        what = fault_of(inputs, path.read_bytes(), is_twice=False, word=text)
        say(f"{path}: {what[1] if what else ', '.join(text)}")
    failed = 0
    for kind, (inputs, most) in kinds.items():
        if chosen.replay or not most:
            continue
        summary = campaign(
            f"{kind}-{name}", inputs, seed=chosen.seed, first=chosen.first, most=most, seconds=chosen.seconds
        )  # fmt: skip
        say(summary.line())
        for issue in summary.kept:
            say(f"  kept: {keep(issue, chosen.keep, inputs.suffix)}")
        failed += summary.faults.total()
    say(f"  killed before its end: {kills.killed}")
    return failed


if __name__ == "__main__":
    sys.exit(main())
