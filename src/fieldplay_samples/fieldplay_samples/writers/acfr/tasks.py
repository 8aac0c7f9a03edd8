"""What the processes make: pictures, and spans of the lasers' and the radar's files, which are joined in the end."""

from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

from fieldplay_samples.writers.acfr import lasers, radar
from fieldplay_samples.writers.acfr.pictures import FOLDERS, AcfrStage, image_times, make_picture
from fieldplay_samples.writers.acfr.scenario import AcfrScenario
from fieldplay_samples.writers.tables import Stamps

PARTS = ".parts"  # a folder that is gone in the end
RADAR_FILES = {
    "ranges": "RadarRangeBearing/RangeBearingQAsciiData.txt",
    "spectra": "RadarSpectrum/HSR_ScalarPoints1.txt",
}
Arrays = dict[str, np.ndarray[tuple[int, ...], np.dtype[np.uint8]] | Stamps]


@dataclass(frozen=True, kw_only=True)
class Task:
    """Something to be made: a camera's picture `first`, or the rows first to last of a laser or `radar`."""

    kind: str
    first: int
    last: int = 0


def tasks_of(scenario: AcfrScenario) -> list[Task]:
    """All that is to be made."""
    tasks = [Task(kind=name, first=number) for name in FOLDERS for number in range(len(image_times(scenario, name)))]
    counts = {laser: len(lasers.line_times(scenario, laser)) for laser in lasers.LASERS}
    for kind, count in {**counts, "radar": len(radar.sample_times(scenario))}.items():
        tasks += [Task(kind=kind, first=first, last=last) for first, last in _spans(scenario, count)]
    return tasks


def _spans(scenario: AcfrScenario, count: int) -> list[tuple[int, int]]:
    """From which row to before which: spans of about the same length."""
    pieces = max(1, round(scenario.seconds / scenario.numbers["chunk_s"]))
    edges = np.linspace(0, count, pieces + 1).round().astype(int).tolist()
    return [(first, last) for first, last in pairwise(edges) if last > first]


def make_folders(folder: Path, scenario: AcfrScenario) -> None:
    """Make the folders of the archive that the tasks write into."""
    names = [PARTS, *(f"{name}/Images" for name in FOLDERS.values()), *lasers.LASERS.values()]
    for name in [*names, *(str(Path(file).parent) for file in RADAR_FILES.values())]:
        (folder / name).mkdir(parents=True)


def do_task(stage: AcfrStage, task: Task) -> None:
    """Make one picture or part."""
    rows = np.arange(task.first, task.last)
    name = f"{task.kind}_{task.first:08d}"
    if task.kind in FOLDERS:
        make_picture(stage, task.kind, task.first)
    elif task.kind == "radar":
        samples = radar.samples(stage.scenario, stage.world, numbers=rows)
        radar.write_samples(stage.folder / PARTS, name, stage.scenario, rows=samples)
    else:
        made = lasers.scans(stage.scenario, stage.world.scene, task.kind, lines=rows)
        lasers.write_scans(stage.folder / PARTS / name, made)


def join_parts(folder: Path, scenario: AcfrScenario) -> Arrays:
    """Join the parts to the archive's files; what each beam came back from, and the lines' stamps, by laser."""
    parts, arrays = folder / PARTS, Arrays()
    for laser, name in lasers.LASERS.items():
        _join(sorted(parts.glob(f"{laser}_*.txt")), folder / name / lasers.FILE)
        kinds = [np.load(path) for path in sorted(parts.glob(f"{laser}_*.npy"))]
        arrays[f"{name}_stamp_ns"] = lasers.line_stamps(scenario, laser)
        arrays[f"{name}_airborne"] = np.concatenate(kinds)
    for kind, file in RADAR_FILES.items():
        _join(sorted(parts.glob(f"{kind}_*.txt")), folder / file)
    for path in parts.iterdir():
        path.unlink()
    parts.rmdir()
    return arrays


def _join(parts: list[Path], target: Path) -> None:
    with target.open("wb") as stream:
        for part in parts:
            stream.write(part.read_bytes())
