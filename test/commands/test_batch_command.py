"""`fieldplay batch`: many archives through steps on workers of Dask, resumed, with what failed told beside the rest."""

import base64
import csv
import fcntl
import hashlib
import json
import os
import re
import resource
import shutil
import signal
import sys
import tempfile
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from distributed import Client, LocalCluster
from distributed.scheduler import KilledWorker

from fieldplay.benchmark.batch import batch_jobs as cluster
from fieldplay.benchmark.batch.batch_jobs import (
    ClusterConfig,
    Job,
    connect,
    digest_of,
    jobs_of,
    outcome_of_future,
    outcomes,
    require_version,
    run_job,
    steps_of,
)
from fieldplay.cli import batch_command as command
from fieldplay.cli.main import main
from fieldplay.core.errors import UserError
from fieldplay.core.resources import own_version

STEPS = ("check", "convert", "evaluate", "report")
ALL = ("info", *STEPS)
BROKEN = "<b>x&y"


class Done(NamedTuple):
    """An archive and one that is none in a folder, the results of all steps on them, and the exit code."""

    data: Path
    out: Path
    code: int


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    """Of two workers."""
    with connect(ClusterConfig(workers=2)) as result:
        yield result


@pytest.fixture(scope="module")
def workers(client: Any) -> str:
    """Where the scheduler is."""
    return str(client.scheduler_info()["address"])


@pytest.fixture(scope="module")
def done(few_images: Path, workers: str, tmp_path_factory: pytest.TempPathFactory) -> Done:
    folder = tmp_path_factory.mktemp("batch")
    shutil.copytree(few_images / "Traverse_5", folder / "data" / "Traverse_1")
    (folder / "data" / BROKEN).mkdir()
    (folder / "data" / BROKEN / "readme.txt").write_text("lost")
    code = batched(folder / "data" / "*", workers, folder / "out", "--do", ",".join(STEPS))
    return Done(folder / "data", folder / "out", code)


def batched(archives: Path, workers: str, out: Path, *arguments: str) -> int:
    return main(["batch", str(archives), "--out", str(out), "--scheduler", workers, *arguments])


def refused(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    """What is said of wrong words."""
    with pytest.raises(SystemExit) as end:
        main(["batch", *map(str, arguments)])
    assert end.value.code == 2
    return capsys.readouterr().err.splitlines()[-1]


def times_of(out: Path) -> dict[str, int]:
    return {str(path.relative_to(out)): path.stat().st_mtime_ns for path in out.glob("*/*.json")}


def jobs_on(archive: Path, out: Path, *steps: str) -> list[Job]:
    return jobs_of([archive], steps_of(dict.fromkeys(steps, ()), ()), out)


def test_every_archive_goes_through_every_step_and_one_that_is_broken_leaves_others(done: Done) -> None:
    assert done.code == 1
    entries = json.loads((done.out / "results.json").read_text())
    statuses = {(one["name"], one["step"]): one["status"] for one in entries}
    assert len(statuses) == len(entries)
    assert statuses == {
        (name, step): status for name, status in (("Traverse_1", "done"), (BROKEN, "failed")) for step in ALL
    }
    by_step = {one["step"]: one for one in entries if one["name"] == "Traverse_1"}
    assert {one["dataset"] for one in by_step.values()} == {"ameds"}
    assert (by_step["convert"]["output"], by_step["report"]["output"]) == ("Traverse_1/bag", "Traverse_1/report.html")
    assert by_step["check"]["figures"] == {"defects": 0, "playable": True}
    assert by_step["evaluate"]["figures"]["ameds/wheels/odom"]["ate_rmse_m"] > 0
    assert all(one["seconds"] >= 0 and "error" not in one for one in by_step.values())
    broken = next(one for one in entries if one["name"] == BROKEN and one["step"] == "check")
    assert (broken["dataset"], broken["figures"], "output" in broken) == (None, {}, False)
    assert "has files of such names" in broken["error"]
    assert (done.out / "Traverse_1" / "bag" / "metadata.yaml").exists()
    assert (done.out / "Traverse_1" / "report.html").exists()


def test_table_has_what_commands_alone_give(done: Done, capsys: pytest.CaptureFixture[str]) -> None:
    with (done.out / "results.csv").open() as file:
        second, first = csv.DictReader(file)
    main(["evaluate", str(done.data / "Traverse_1"), "wheels/odom", "gnss/odom", "--json"])
    alone = json.loads(capsys.readouterr().out)
    ate = next(row["rmse"] for row in alone["errors"] if row["name"] == "ATE")
    assert float(first["ameds/wheels/odom ATE m"]) == ate
    main(["info", str(done.data / "Traverse_1"), "--json"])
    streams = json.loads(capsys.readouterr().out)["streams"]
    assert int(first["messages"]) == sum(one["count"] for one in streams)
    assert (first["archive"], first["defects"], first["failed"]) == ("Traverse_1", "0", "")
    assert (second["archive"], second["defects"], second["failed"]) == (
        BROKEN,
        "",
        "info, check, convert, evaluate, report",
    )


def test_page_names_its_script_and_nothing_from_elsewhere(done: Done) -> None:
    page = (done.out / "index.html").read_text()
    (script,) = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in page
    links = re.findall(r'(?:href|src)="([^"#]+)"', page)
    assert {"Traverse_1/report.html", "Traverse_1/info.json", "%3Cb%3Ex%26y/check.json"} <= set(links)
    assert "%3Cb%3Ex%26y/report.html" not in links
    assert "&lt;b&gt;x&amp;y" in page
    assert "<b>x" not in page
    assert "http" not in page.replace("http-equiv", "")


def test_what_is_done_stays_and_what_failed_or_changed_is_done_again(
    done: Done, workers: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, out = done.data, tmp_path / "out"
    shutil.copytree(done.out, out)
    before = times_of(out)
    assert batched(data / "*", workers, out, "--do", ",".join(STEPS)) == 1
    assert "5 of 10 steps were done before" in capsys.readouterr().err
    assert changed(before, out) == {f"{BROKEN}/{step}.json" for step in ALL}
    shutil.rmtree(out / "Traverse_1" / "bag")
    before = times_of(out)
    assert batched(data / "Traverse_1", workers, out, "--do", "check,convert") == 0
    assert changed(before, out) == {"Traverse_1/convert.json"}
    assert batched(data / "Traverse_1", "tcp://127.0.0.1:1", out, "--do", "check,convert") == 0  # nobody is asked
    os.utime(data / "Traverse_1" / "MainArmJointAngles.csv", (1, 1))
    assert batched(data / "Traverse_1", workers, out, "--do", "check") == 0
    assert changed(before, out) == {f"Traverse_1/{step}.json" for step in ("info", "check", "convert")}


def changed(before: dict[str, int], out: Path) -> set[str]:
    return {name for name, time in times_of(out).items() if before[name] != time}


def test_file_gives_steps_with_their_arguments_and_bags_are_archives_too(
    done: Done, workers: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    described = tmp_path / "work.yaml"
    positions = f"[{done.data}/Traverse_1, {done.out}/Traverse_1/bag]"
    described.write_text(f"archives: {positions}\nsteps:\n- convert: --topics speeds$\n- check\n")
    assert batched(described, workers, tmp_path / "out", "--json") == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {(one["name"], one["step"]): one["words"] for one in lines} == {
        (name, step): ["--topics", "speeds$"] if step == "convert" else []
        for name in ("Traverse_1", "bag")
        for step in ("info", "convert", "check")
    }
    with (tmp_path / "out" / "results.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [(row["archive"], row["defects"]) for row in rows] == [("Traverse_1", "0"), ("bag", "0")]
    assert int(rows[1]["messages"]) == int(rows[0]["messages"]) + 107  # those of /tf and /tf_static
    assert main(["info", str(tmp_path / "out" / "bag" / "bag"), "--json"]) == 0
    streams = json.loads(capsys.readouterr().out)["streams"]
    assert {one["topic"]: one["count"] for one in streams} == {"/ameds/platform/wheel_speeds": 100}


def test_where_no_room_is_left_that_step_fails_and_is_done_when_there_is(
    done: Done, client: Any, workers: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    unlimited = resource.getrlimit(resource.RLIMIT_FSIZE)
    arguments = (done.data / "Traverse_1", workers, tmp_path / "out", "--do", "check,convert")
    client.run(resource.setrlimit, resource.RLIMIT_FSIZE, (40_000, unlimited[1]))
    assert batched(*arguments) == 1
    assert "Traverse_1: convert failed: " in capsys.readouterr().out
    assert sorted(os.listdir(tmp_path / "out" / "Traverse_1")) == ["check.json", "convert.json", "info.json"]
    client.run(resource.setrlimit, resource.RLIMIT_FSIZE, unlimited)
    assert batched(*arguments) == 0
    assert "2 of 3 steps were done before" in capsys.readouterr().err
    assert (tmp_path / "out" / "Traverse_1" / "bag" / "metadata.yaml").exists()


def test_job_of_which_all_workers_die_has_failed(done: Done, tmp_path: Path) -> None:
    class Killed:
        def exception(self) -> Exception:
            return KilledWorker("one", None, 2)

    (job,) = jobs_on(done.data / "Traverse_1", tmp_path, "check")
    result = outcome_of_future(Killed(), job)
    assert (result.is_well, result.reason) == (False, "3 workers died of it, one after the other")


def test_scheduler_that_disappears_is_reported(done: Done, tmp_path: Path) -> None:
    with (
        LocalCluster(n_workers=0, processes=False, protocol="tcp://", dashboard_address="127.0.0.1:0") as lost,
        Client(lost, set_as_default=False) as asking,
    ):
        run = partial(run_job, command=main, requested_version=own_version())
        actual = outcomes(asking, jobs_on(done.data / "Traverse_1", tmp_path, "check"), run)
        threading.Thread(target=lost.close).start()
        with pytest.raises(UserError, match="the scheduler has gone away: 0 of 1 were done; the same command goes on"):
            list(actual)


def test_scheduler_that_has_disappeared_before_it_is_contacted_is_reported_too(done: Done, tmp_path: Path) -> None:
    with (
        LocalCluster(n_workers=0, processes=False, protocol="tcp://", dashboard_address="127.0.0.1:0") as here,
        Client(here, set_as_default=False) as asking,
    ):
        asking.close()
        run = partial(run_job, command=main, requested_version=own_version())
        with pytest.raises(UserError, match="the scheduler has gone away: 0 of 1 were done; the same command goes on"):
            list(outcomes(asking, jobs_on(done.data / "Traverse_1", tmp_path, "check"), run))


def test_workers_of_another_version_are_refused(done: Done, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=rf"worker tcp://a: expected fieldplay {own_version()}, got 0.0.9"):
        require_version({"tcp://a": "0.0.9"})
    with pytest.raises(UserError, match=rf"expected a worker of fieldplay 9.9, got one of {own_version()}"):
        run_job(jobs_on(done.data / "Traverse_1", tmp_path, "check")[0], main, "9.9")


def test_where_no_scheduler_answers_that_is_reported(
    done: Done, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "CONNECT_S", 0.2)
    assert batched(done.data / "Traverse_1", "tcp://127.0.0.1:1", tmp_path / "out") == 1
    assert "fieldplay: tcp://127.0.0.1:1: no scheduler of Dask answers" in capsys.readouterr().err
    (tmp_path / "scheduler.json").write_text("{}")
    arguments = (done.data / "Traverse_1", "--out", tmp_path / "out", "--scheduler-file", tmp_path / "scheduler.json")
    assert "scheduler.json: expected the file of a scheduler of Dask, with its address" in refused(capsys, *arguments)


def test_workers_leave_nothing_in_folders_and_what_killed_batch_left_is_removed(
    done: Done, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    passing, out = tmp_path / "passing", tmp_path / "out"
    left = out / ".workers.partial-99999999" / "dask-scratch-space"
    for folder in (passing, left):
        folder.mkdir(parents=True)
    monkeypatch.setattr(tempfile, "tempdir", str(passing))
    assert main(["batch", str(done.data / BROKEN), "--do", "check", "--workers", "1", "--out", str(out)]) == 1
    assert not list(passing.iterdir())
    assert sorted(os.listdir(out)) == [command.LOCK, BROKEN, "index.html", "results.csv", "results.json"]


def test_workers_that_cannot_start_are_reported(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    message = "the workers cannot be started: .*Not a directory"
    with pytest.raises(UserError, match=message), connect(ClusterConfig(scratch=tmp_path / "file")):
        pass


def test_two_batches_do_not_share_folder(done: Done, workers: str, capsys: pytest.CaptureFixture[str]) -> None:
    with (done.out / command.LOCK).open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        result = refused(capsys, done.data / "*", "--out", done.out, "--scheduler", workers)
    assert f"{done.out}: another batch is writing there" in result


def test_archives_of_one_name_are_called_by_their_folders_too(tmp_path: Path) -> None:
    archives = [tmp_path / folder / "day.zip" for folder in "ab"]
    for path in archives:
        path.parent.mkdir()
        path.touch()
    assert [one.name for one in jobs_of(archives, steps_of({"check": ()}, ()), tmp_path)] == ["a_day.zip", "b_day.zip"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nowhere*.zip",), "nowhere*.zip: there is no such folder or file"),
        ((), "expected archives, got none"),
        (("{data}", "--do", "check,fly"), "--do: expected a step of check, convert, evaluate, report, slam, got 'fly'"),
        (("{data}", "--words", "slam=a"), "--words: expected STEP=WORDS with a step of check, report, got 'slam=a'"),
        (("{data}", "--words", "check=--jobs=4"), "check: --jobs is not for a batch, whose workers share the cores"),
        (("{data}", "--methods", "kiss_icp"), "--methods: expected methods where slam is done, and only there"),
        (("{data}", "--do", "slam"), "--methods: expected methods where slam is done, and only there"),
        (("{data}", "--do", "slam", "--methods", "flying"), "there is no method 'flying'"),
        (("{data}", "--out", "{data}/out"), "lies in the archive"),
        (("{data}/work.yaml",), "work.yaml: steps: expected a list, got str"),
    ],
)
def test_invalid_arguments_are_reported(
    done: Done, capsys: pytest.CaptureFixture[str], tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:
    (done.data / BROKEN / "work.yaml").write_text("archives: [a]\nsteps: check\n")
    parameters = [word.format(data=done.data / BROKEN) for word in arguments]
    assert message in refused(capsys, "--out", tmp_path / "out", *parameters)


def test_without_dask_command_reports_what_to_do(
    done: Done, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    assert "./ws setup --with batch" in refused(capsys, done.data / "Traverse_1", "--out", tmp_path / "out")


def test_archive_is_same_as_long_as_its_files_are(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "a.csv").write_text("1")
    before = digest_of(tmp_path)
    assert digest_of(tmp_path) == before
    (tmp_path / "deep" / "a.csv").rename(tmp_path / "a.csv")
    assert digest_of(tmp_path) != before


def test_worker_that_dies_loses_nothing(done: Done, client: Any, tmp_path: Path) -> None:
    """Last of all, as another has to start then."""
    jobs = jobs_on(done.data / "Traverse_1", tmp_path / "out", *ALL)
    pids = client.run(os.getpid)
    actual = outcomes(client, jobs, partial(run_job, command=main, requested_version=own_version()))
    first = next(actual)
    busy = next(worker for worker, keys in client.processing().items() if keys)
    os.kill(pids[busy], signal.SIGKILL)
    assert {(one.step, one.is_well) for one in (first, *actual)} == {(step, True) for step in ALL}
    assert pids[busy] not in client.run(os.getpid).values()
