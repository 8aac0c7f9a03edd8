"""Samples asked for twice, wrongly, or where something else stands."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fieldplay_samples import write_sample as sampling
from fieldplay_samples.output_folder import SampleError, SampleTruth
from fieldplay_samples.write_sample import (
    SampleOptions,
    SampleResult,
    Value,
    complete_options,
    datasets,
    settings_of,
    write_sample,
)
from fieldplay_samples.writers.text_tables import TextColumn, text_of, time_column

OPTIONS = SampleOptions(seconds=3.0)


class Stub:
    """A writer of one small file."""

    def __init__(self) -> None:
        self.calls = 0

    def settings(self) -> dict[str, Value]:
        return {"header": True, "rate_hz": 5.0, "shrink": 4}

    def write_archive(self, folder: Path, options: SampleOptions, progress: Callable[[int, int], None]) -> SampleTruth:
        self.calls += 1
        (folder / "data.csv").write_text(f"{options.seed} {dict(options.settings)}\n")
        progress(1, 1)
        return SampleTruth(stamp_ns=np.array([5]), map_T_base=np.eye(4)[None], velocity_m_s=np.zeros((1, 3)))


class Telling(Stub):
    """A writer that has further truth to tell."""

    def write_archive(self, folder: Path, options: SampleOptions, progress: Callable[[int, int], None]) -> SampleTruth:
        arrays = {"airborne": {"stamp_ns": np.array([5, 7]), "kind": np.array([0, 1], np.uint8)}}
        return replace(super().write_archive(folder, options, progress), arrays=arrays)


class Failing(Stub):
    """A writer that does not come to its end."""

    def write_archive(self, folder: Path, options: SampleOptions, progress: Callable[[int, int], None]) -> SampleTruth:
        (folder / "half.csv").write_text("")
        raise KeyboardInterrupt


@pytest.fixture
def stub(monkeypatch: pytest.MonkeyPatch) -> Stub:
    stub = Stub()
    monkeypatch.setattr(sampling, "_writer", lambda _: stub)
    return stub


def write(path: Path, options: SampleOptions = OPTIONS) -> SampleResult:
    return write_sample("ameds", path, options)


def test_same_sample_is_used_again(stub: Stub, tmp_path: Path) -> None:
    first, second = write(tmp_path / "a"), write(tmp_path / "a", replace(OPTIONS, workers=1))
    assert (first.reused, second.reused, stub.calls) == (False, True, 1)
    assert first.path == second.path == tmp_path / "a"


def test_other_options_make_another_sample(stub: Stub, tmp_path: Path) -> None:
    write(tmp_path / "a")
    assert not write(tmp_path / "a", replace(OPTIONS, seed=2)).reused
    assert not write(tmp_path / "a", replace(OPTIONS, seed=2, settings={"rate_hz": "2"})).reused
    assert write(tmp_path / "a", replace(OPTIONS, seed=2, settings={"rate_hz": 2})).reused
    assert (tmp_path / "a/data.csv").read_text() == "2 {'header': True, 'rate_hz': 2.0, 'shrink': 4}\n"


def test_sample_of_other_code_version_is_rewritten(stub: Stub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "a")
    monkeypatch.setattr(sampling, "source_digest", lambda: "changed")
    assert not write(tmp_path / "a").reused


@pytest.mark.parametrize("damaged", ["a/data.csv", "a.truth.csv"])
def test_damaged_sample_is_rewritten(stub: Stub, tmp_path: Path, damaged: str) -> None:
    write(tmp_path / "a")
    (tmp_path / damaged).write_text("")
    assert not write(tmp_path / "a").reused
    assert (tmp_path / "a/data.csv").read_text()
    assert write(tmp_path / "a").reused


def test_further_truth_files_belong_to_sample(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling, "_writer", lambda _: Telling())
    write(tmp_path / "a")
    with np.load(tmp_path / "a.airborne.npz") as arrays:
        assert {name: values.tolist() for name, values in arrays.items()} == {"stamp_ns": [5, 7], "kind": [0, 1]}
    assert write(tmp_path / "a").reused
    (tmp_path / "a.airborne.npz").write_text("")
    assert not write(tmp_path / "a").reused
    monkeypatch.setattr(sampling, "_writer", lambda _: Stub())
    write(tmp_path / "a", replace(OPTIONS, seed=2))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "a.sample.json", "a.truth.csv"]


def test_further_truth_never_overwrites_foreign_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling, "_writer", lambda _: Telling())
    (tmp_path / "a.airborne.npz").write_text("mine")
    with pytest.raises(SampleError, match=r"a\.airborne\.npz is there already"):
        write(tmp_path / "a")
    assert [path.name for path in tmp_path.iterdir()] == ["a.airborne.npz"]


@pytest.mark.parametrize("path", ["a", "a.truth.csv", "a.sample.json"])
def test_foreign_folder_is_never_overwritten(stub: Stub, tmp_path: Path, path: str) -> None:
    (tmp_path / path).write_text("mine")
    with pytest.raises(SampleError, match=f"{path} is there already"):
        write(tmp_path / "a")
    assert (tmp_path / path).read_text() == "mine"
    assert stub.calls == 0


def test_sample_with_foreign_file_is_kept(stub: Stub, tmp_path: Path) -> None:
    write(tmp_path / "a")
    (tmp_path / "a/notes.txt").write_text("mine")
    with pytest.raises(SampleError, match=r"holds notes\.txt"):
        write(tmp_path / "a", replace(OPTIONS, seed=2))
    assert (tmp_path / "a/data.csv").exists()


def test_zip_does_not_use_truth_of_folder(stub: Stub, tmp_path: Path) -> None:
    write(tmp_path / "a")
    with pytest.raises(SampleError, match="belongs to a"):
        write(tmp_path / "a.zip")


def test_interrupted_sample_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling, "_writer", lambda _: Failing())
    with pytest.raises(KeyboardInterrupt):
        write(tmp_path / "a")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("earlier", [False, True])
@pytest.mark.parametrize("step", range(6))
def test_sample_killed_at_any_final_step_is_rewritten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: int, earlier: bool
) -> None:
    """What stands there is no sample that is half another one, and the next run clears it all away."""
    whole = tmp_path / "whole"
    monkeypatch.setattr(sampling, "_writer", lambda _: Telling())
    write(whole / "a")
    requested = {path.relative_to(whole): path.read_bytes() for path in whole.rglob("*") if path.is_file()}
    if earlier:
        monkeypatch.setattr(sampling, "_writer", lambda _: Stub())
        write(tmp_path / "some/a", replace(OPTIONS, seed=9))
        monkeypatch.setattr(sampling, "_writer", lambda _: Telling())
    (tmp_path / "some").mkdir(exist_ok=True)
    if not (child := os.fork()):
        steps = iter(range(step))
        real = Path.replace
        monkeypatch.setattr(Path, "replace", lambda a, b: real(a, b) if next(steps, None) is not None else os._exit(9))
        monkeypatch.setattr(shutil, "rmtree", lambda *_, **__: os._exit(9))
        write(tmp_path / "some/a")
        os._exit(0)
    os.waitpid(child, 0)
    write(tmp_path / "some/a")
    paths = {path.relative_to(tmp_path / "some"): path for path in (tmp_path / "some").rglob("*") if path.is_file()}
    assert {name: path.read_bytes() for name, path in paths.items()} == requested


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (SampleOptions(seconds=0.0), "seconds: expected 2 to 3600, got 0"),
        (SampleOptions(seconds=-5.0), "seconds"),
        (SampleOptions(seconds=float("nan")), "seconds"),
        (SampleOptions(seed=-1), "seed"),
        (SampleOptions(settings={"colour": "red"}), "no setting 'colour': there are header, rate_hz, shrink"),
        (SampleOptions(settings={"header": "perhaps"}), "header: expected true or false"),
        (SampleOptions(settings={"rate_hz": 0}), "rate_hz: expected a number above 0"),
        (SampleOptions(settings={"rate_hz": "fast"}), "rate_hz: expected a number"),
        (SampleOptions(settings={"shrink": 1.5}), "shrink: expected a whole number"),
    ],
)
def test_invalid_option_is_reported_before_writing(
    stub: Stub, tmp_path: Path, options: SampleOptions, message: str
) -> None:
    with pytest.raises(SampleError, match=message):
        write(tmp_path / "a", options)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("dataset", datasets())
def test_defaults_of_all_settings_are_accepted(dataset: str) -> None:
    known = settings_of(dataset)
    for settings in (known, {name: str(value) for name, value in known.items()}):
        assert complete_options(dataset, SampleOptions(settings=settings)).settings == known


def test_unknown_dataset_is_reported_with_known_ones(tmp_path: Path) -> None:
    with pytest.raises(SampleError, match=r"'moon'.*ameds"):
        write_sample("moon", tmp_path / "a")
    assert "ameds" in datasets()
    assert settings_of("ameds")["image_rate_hz"] == 5.0
    assert issubclass(SampleError, ValueError)


def test_library_that_is_not_installed_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "embreex", None)
    monkeypatch.setitem(sys.modules, "embreex.mesh_construction", None)
    tiny = SampleOptions(seconds=2.0, settings={"image_rate_hz": 1.0, "image_shrink": 24}, workers=1)
    with pytest.raises(SampleError, match=r"^a sample of rosario needs embreex.*: pip install embreex"):
        write_sample("rosario", tmp_path / "a", tiny)
    assert not (tmp_path / "a").exists()


def test_progress_is_reported_to_its_end(stub: Stub, tmp_path: Path) -> None:
    steps: list[tuple[int, int]] = []
    write_sample("ameds", tmp_path / "a", OPTIONS, progress=lambda done, total: steps.append((done, total)))
    assert steps == [(1, 1)]


def test_processes_are_spawned_from_threaded_program(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import multiprocessing, os, pathlib\n"
        "from fieldplay_samples.writers.parallel import run_tasks\n"
        "def work(folder, name):\n"
        "    threads = os.environ.get('OPENBLAS_NUM_THREADS')\n"
        "    (folder / name).write_text(f'{multiprocessing.current_process().name} {threads}')\n"
        "if __name__ == '__main__':\n"
        "    run_tasks(work, pathlib.Path(__file__).parent, ['a.txt', 'b.txt'], workers=2, progress=print)\n"
        "    assert os.environ['OPENBLAS_NUM_THREADS'] == '5'\n"
    )
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "5"}  # of the program; its processes share the processors
    subprocess.run([sys.executable, str(script)], check=True, env=environment)
    texts = [(tmp_path / name).read_text() for name in ("a.txt", "b.txt")]
    assert all("Spawn" in text and text.endswith(" 1") for text in texts)


def test_processes_exit_with_killed_program(tmp_path: Path) -> None:
    """They hold its output open for as long as they live; and nothing of theirs stays in the place of what passes."""
    script = tmp_path / "script.py"
    script.write_text(
        "import os, signal\n"
        "from fieldplay_samples.writers.parallel import run_tasks\n"
        "def work(pid, _):\n    os.kill(pid, signal.SIGKILL)\n    signal.pause()\n"
        "if __name__ == '__main__':\n"
        "    run_tasks(work, os.getpid(), range(2), workers=2, progress=print)\n"
    )
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    environment = {**os.environ, "TMPDIR": str(scratch)}
    ended = subprocess.run([sys.executable, str(script)], env=environment, stdout=subprocess.PIPE, timeout=60)
    assert ended.returncode == -signal.SIGKILL
    assert list(scratch.iterdir()) == []


def test_tables_keep_times_to_nanosecond_and_numbers_to_their_decimals() -> None:
    table = [
        time_column("time_s", np.array([1656928800_000000007, 1656928800_100000000])),
        TextColumn(name="ticks", values=np.array([12345678901, -4])),
        TextColumn(name="latitude_rad", values=np.array([0.6583988245583123, -1e-15]), decimals=13),
    ]
    expected = "time_s,ticks,latitude_rad\n1656928800.000000007,12345678901,0.6583988245583\n"
    assert text_of(table) == expected + "1656928800.100000000,-4,0.0000000000000\n"
    assert text_of(table, header=False).splitlines()[0] == "1656928800.000000007,12345678901,0.6583988245583"
