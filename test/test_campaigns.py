"""Campaigns run, and find nothing in the moment that they have here; what they found once has tests of its own."""

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest
from campaigns.frame import Found, Inputs, WrongError, campaign, fault_of, keep
from campaigns.hostile import judged, names_that_steer
from campaigns.kinds import KINDS

from fieldplay.core.errors import ArchiveError

MOMENT_S = 0.1
ROOT = Path(__file__).parents[1]
FUZZER = """
import os
from contextlib import contextmanager

@contextmanager
def instrument_imports(include):
    assert "fieldplay" in include
    yield

def Mutate(data, most):
    return b"?" + data[:most]

def Setup(words, look, custom_mutator):
    global run, change
    run, change = look, custom_mutator

def Fuzz():
    os.write(2, b"#2 INITED cov: 7 ft: 7 corp: 1/1b exec/s: 0 rss: 9Mb\\n")
    data = b""
    for seed in range(10**9):
        run(data)
        data = change(data, 1 << 16, seed)
        assert data.partition(b"\\n")[0] in (b"tum", b"long", b"kitti", b"euroc", b"times")
        os.write(2, b"#3 NEW    cov: 9 ft: 9 corp: 5/9b lim: 4 exec/s: 0 rss: 9Mb\\n" * (seed == 5))
"""


@pytest.mark.parametrize("kind", KINDS)
def test_moment_of_campaign_finds_nothing(kind: str) -> None:
    summary = campaign(kind, KINDS[kind](), seed=7, first=1, seconds=MOMENT_S)
    assert summary.inputs
    assert summary.line().endswith("; seed 7; 0 failed"), summary.line()


class Odd(Inputs):
    """Inputs of two bytes, the first of which says what goes wrong."""

    suffix = "odd"

    def __init__(self) -> None:
        self.looks = 0

    def mutated(self, draw: random.Random) -> bytes:
        return bytes([draw.randrange(5), draw.randrange(256)])

    def look(self, data: bytes) -> Found:
        self.looks += 1
        if data[0] == 1:
            raise ArchiveError("expected more")
        if data[0] == 2:
            raise WrongError("a row is missing: line 3")
        if data[0] == 3:
            raise ZeroDivisionError
        return Found("read", self.looks if data[0] == 4 else 0)


def test_what_fails_is_counted_and_kept_and_comes_again(tmp_path: Path) -> None:
    odd = Odd()
    summary = campaign("odd", odd, seed=1, most=400)
    assert summary.inputs == 400 and summary.words["refused"] > 50
    assert {name.partition(" at ")[0] for name in summary.faults} == {
        "a row is missing",
        "ZeroDivisionError",
        "another thing came the second time",
    }
    assert summary.faults["a row is missing"] > 50 and len(summary.kept) == 9
    for issue in summary.kept:
        path = keep(issue, tmp_path, odd.suffix)
        assert odd.mutated(random.Random(f"odd 1 {issue.number}")) == path.read_bytes()
        fault = fault_of(odd, path.read_bytes(), is_twice=True, word=summary.words)
        assert fault is not None and fault[0] in summary.faults


def guided(*arguments: str, folder: Path) -> "subprocess.CompletedProcess[str]":
    """A campaign with the fuzzer that lies at a place."""
    command = [sys.executable, "-m", "campaigns.guided", *arguments, "--keep", str(folder)]
    environment = {**os.environ, "PYTHONPATH": f"{folder}:{os.environ.get('PYTHONPATH', '')}"}
    return subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=120
    )  # fmt: skip


def test_inputs_that_are_guided_are_evaluated_and_keep_their_heads(tmp_path: Path) -> None:
    (tmp_path / "atheris.py").write_text(FUZZER)
    ended = guided("trajectories", "--seconds", str(MOMENT_S), folder=tmp_path)
    assert ended.returncode == 0 and "seed 1; 0 failed" in ended.stdout, ended.stdout + ended.stderr
    assert ended.stdout.endswith("  branches seen: 7 at first, 9 in the end, by 5 inputs\n")


def test_without_fuzzer_it_is_reported_what_is_needed(tmp_path: Path) -> None:
    (tmp_path / "atheris.py").write_text("raise ImportError")
    ended = guided("tables", folder=tmp_path)
    assert (ended.returncode, ended.stdout.count("\n")) == (2, 1)
    assert "needs atheris" in ended.stdout and not ended.stderr


def test_names_that_are_malicious_are_reported_as_text() -> None:
    ending, issue = judged(names_that_steer)
    assert (issue, ending.code) == ("", 1)


def test_few_kills_and_failing_disks_do_no_harm(tmp_path: Path) -> None:
    arguments = [
        sys.executable,
        "-m",
        "campaigns.kills",
        "index",
        "--kills",
        "3",
        "--faults",
        "3",
        "--keep",
        str(tmp_path),
    ]
    ended = subprocess.run(arguments, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False, timeout=120)
    assert ended.returncode == 0 and ended.stdout.count("3 inputs") == 2, ended.stdout
