"""The commands that write, each on an archive that is as small as it goes."""

import math
from collections.abc import Mapping
from pathlib import Path

from campaigns.stage import Command, Stage
from fieldplay_cdff.logs import file_index
from fieldplay_testing.tiny_ameds import TinyAmeds
from fieldplay_testing.tiny_sherpatt import write_archive
from support.stereo_bags import (
    CHAIN,
    SETTINGS,
    pair,
    write_bag,
)

PICTURES, CLOUDS = 2, 2  # that stay of each kind
SET = [word for setting in SETTINGS for word in ("--set", setting)]


def _ameds(root: Path) -> None:
    archive = TinyAmeds(root / "Traverse_5", seconds=1)
    archive.write_all()
    for kind, most in (("MainCam_*", PICTURES), ("AuxCam_*", PICTURES), ("MainAux*", PICTURES), ("*.pcd", CLOUDS)):
        for path in sorted(archive.root.glob(kind))[most:]:
            path.unlink()
    (archive.root / "MainCamVideoFeed.mp4").unlink()


def _two_ameds(root: Path) -> None:
    for name in ("a", "b"):
        _ameds(root / name)


def _stereo(root: Path) -> None:
    write_bag(root / "bag", [pair(row) for row in range(3)])
    (root / "wall.yaml").write_text(CHAIN)


def _poses(root: Path) -> None:
    for name, by_m in (("estimate.tum", 0.1), ("truth.tum", 0.0)):
        rows = (f"{1e9 + row / 10} {row / 10} {math.sin(row / 10) + by_m} 0 0 0 0 1\n" for row in range(200))
        (root / name).write_text("".join(rows))


def _logs(root: Path) -> None:
    write_archive(root)


def _nothing(root: Path) -> None:
    """A sample is made of nothing."""


def _keep_small_indexes() -> None:
    file_index.SMALLEST = 0


def _convert(stage: Stage) -> list[str]:
    return ["convert", str(stage.archive / "Traverse_5"), str(stage.out / "bag")]


def _export(stage: Stage, form: str) -> list[str]:
    return ["export", str(stage.archive / "Traverse_5"), str(stage.out / form), "--format", form]


def _fuse(stage: Stage) -> list[str]:
    out, archive = stage.out, stage.archive
    files = [
        word for option, name in (("ply", "wall.ply"), ("stats", "s.json")) for word in (f"--{option}", str(out / name))
    ]
    return ["fuse", str(archive / "bag"), str(archive / "wall.yaml"), str(out / "bag"), *SET, *files]


def _evaluate(stage: Stage) -> list[str]:
    files = [str(stage.archive / name) for name in ("estimate.tum", "truth.tum")]
    return ["evaluate", *files, "--tum", str(stage.out / "tum"), "--plot", str(stage.out / "errors.html")]


def _sample(stage: Stage, *arguments: str) -> list[str]:
    return ["sample", "ida", str(stage.out / "some"), "--seconds", "2", "--set", "clock_column=none", *arguments]


def _batch(stage: Stage) -> list[str]:
    archives = [str(stage.archive / name / "Traverse_5") for name in ("a", "b")]
    return ["batch", *archives, "--do", "check,convert", "--workers", "1", "--out", str(stage.out / "results")]


COMMANDS: Mapping[str, Command] = {
    "convert": Command(make=_ameds, words=_convert),
    "convert-zstd": Command(make=_ameds, words=lambda stage: [*_convert(stage), "--compression", "zstd"]),
    "convert-sqlite3": Command(make=_ameds, words=lambda stage: [*_convert(stage), "--storage", "sqlite3"]),
    "convert-jobs": Command(make=_ameds, words=lambda stage: [*_convert(stage), "--jobs", "2"]),
    "convert-jobs-sqlite3": Command(
        make=_ameds, words=lambda stage: [*_convert(stage), "--jobs", "2", "--storage", "sqlite3"]
    ),
    "convert-again": Command(
        make=_ameds,
        words=lambda stage: [*_convert(stage), "--overwrite"],
        before=lambda stage: [*_convert(stage), "--topics", "gnss"],
    ),
    "export-csv": Command(make=_ameds, words=lambda stage: _export(stage, "csv"), again=()),
    "export-parquet": Command(make=_ameds, words=lambda stage: _export(stage, "parquet"), again=()),
    "export-images": Command(make=_ameds, words=lambda stage: _export(stage, "images"), again=()),
    "export-kitti": Command(make=_ameds, words=lambda stage: _export(stage, "kitti"), again=()),
    "report": Command(
        make=_ameds,
        words=lambda stage: ["report", str(stage.archive / "Traverse_5"), str(stage.out / "page.html")],
        again=(),
    ),
    "evaluate": Command(make=_poses, words=_evaluate, loose=frozenset({"tum"})),
    "fuse": Command(make=_stereo, words=_fuse, timed=frozenset({".json"})),
    "sample": Command(make=_nothing, words=_sample, again=()),
    "sample-zip": Command(make=_nothing, words=lambda stage: _sample(stage, "--zip"), again=()),
    "sample-again": Command(
        make=_nothing,
        words=_sample,
        before=lambda stage: _sample(stage, "--scene", "touch", "--touches", "2"),
        again=(),
    ),
    "index": Command(
        make=_logs,
        words=lambda stage: ["cdff", "info", str(stage.archive)],
        again=(),
        prepare=_keep_small_indexes,
    ),
    "batch": Command(
        make=_two_ameds,
        words=_batch,
        again=(),
        loose=frozenset({"results"}),
        timed=frozenset({".json"}),
        telling=frozenset({".json", ".html", ".csv"}),
        patience_s=150.0,
    ),
}
