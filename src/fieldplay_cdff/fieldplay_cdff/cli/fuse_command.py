"""The command `fieldplay fuse`: a pipeline of fusion on an archive or a bag."""

import argparse
import json
import shutil
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from fieldplay.cli.arguments import (
    LONGEST_S,
    add_json,
    add_overwrite,
    add_window,
    count,
    number,
    parameters,
    require_output,
    require_output_file,
)
from fieldplay.cli.parser import CommandParser
from fieldplay.cli.terminal import deferred_interrupts, note, print_line, print_message, progress_bar
from fieldplay.core.atomic_output import write_atomically
from fieldplay.core.errors import ArchiveError, UsageError, pluralize
from fieldplay.core.number_text import count_noun
from fieldplay.core.progress import track_opening

MAX_THREADS = 64
EPILOG = """\
DFPC is the name of a pipeline (fuse --list names them) or the file of a description of form 2; docs/fusion.md explains
its entries. OUT is a rosbag2 bag: what comes out below the pipeline's topic, the archive's static tf and odometry.

examples:
  fieldplay fuse --list
  fieldplay fuse --list --steps
  fieldplay fuse morocco Reconstruction3D out --implementation DenseRegistrationFromStereo --every 4
  fieldplay fuse some_bag MyChain.yaml out --input leftImage=/cam0/image --input rightImage=/cam1/image
  fieldplay fuse morocco Reconstruction3D out --set reconstructor3D.Disparities.NumberOfIntervals=128 --stats stats.json
"""


def add_arguments(parser: CommandParser) -> None:
    """ARCHIVE, DFPC and OUT; parameters, inputs, and further outputs."""
    from fieldplay.datasets.registry import dataset_files
    from fieldplay_cdff.pipeline.pipeline_options import PipelineOptions

    threads, stop_after = PipelineOptions.threads, PipelineOptions.stop_after
    parser.add_argument("archive", metavar="ARCHIVE", type=Path, nargs="?", help="an archive, or a bag")
    parser.add_argument("dfpc", metavar="DFPC", nargs="?", help="a pipeline by its name, or the file of one")
    parser.add_argument("out", metavar="OUT", type=Path, nargs="?", help="the bag's folder, which must not exist")
    with parser.section("pipeline"):
        parser.add_argument("--list", action="store_true", help="list the pipelines, their implementations and ports")
        parser.add_argument(
            "--steps", action="store_true", help="with --list: list all steps (DFNs), implementations and parameters"
        )
        parser.add_argument(
            "--implementation", metavar="NAME", help="the pipeline's implementation (default: its first)"
        )
        parser.add_argument(
            "--preset", choices=("camera", "published"), default="camera",
            help="values of parameters that are `auto`: by the camera and the first images, or published for a rover",
        )  # fmt: skip
        parser.add_argument(
            "--set", action="append", default=[], metavar="STEP.GROUP.NAME=VALUE",
            help="a parameter of a step; STEP=IMPLEMENTATION; NAME=VALUE is a parameter of the dataset",
        )  # fmt: skip
        parser.add_argument(
            "--config", action="append", default=[], metavar="[STEP=]FILE",
            help="parameters in a file of CDFF: of the pipeline, or of one step",
        )  # fmt: skip
        parser.add_argument("--threads", type=count, default=threads, metavar="N", help="threads that all steps share")
        parser.add_argument("--seed", type=int, default=0, metavar="N", help="seed of random numbers")
        parser.add_argument(
            "--stop-after", type=count, default=stop_after, metavar="N",
            help="stop after so many failures of a step in a row (default: never)",
        )  # fmt: skip
    with parser.section("input"):
        parser.add_argument(
            "--dataset", choices=sorted(dataset_files()), metavar="NAME",
            help=f"the dataset, where its files do not determine it: {', '.join(sorted(dataset_files()))}",
        )  # fmt: skip
        parser.add_argument(
            "--input", action="append", default=[], metavar="PORT=TOPIC",
            help="source of an input: a topic, or the file of a model (.ply, .obj)",
        )  # fmt: skip
    add_window(parser)
    with parser.section("time and topics"):
        parser.add_argument("--every", type=count, default=1, metavar="N", help="take every n-th set of images")
        parser.add_argument("--topics", default="", metavar="REGEX", help="topics of the archive to copy into OUT")
        parser.add_argument(
            "--namespace", metavar="NAME", help="prefix of the pipeline's topics (default: the dataset's name)"
        )
    with parser.section("output"):
        parser.add_argument("--tum", type=Path, metavar="FILE", help="write the poses as TUM")
        parser.add_argument("--map", type=Path, metavar="FILE", help="write the map of keyframes (.npz)")
        parser.add_argument("--ply", type=Path, metavar="FILE", help="write the last cloud")
        parser.add_argument("--stats", type=Path, metavar="FILE", help="write time and memory of each step as JSON")
        parser.add_argument("--strict", action="store_true", help="write nothing if input was skipped or a step failed")
        add_overwrite(parser, "replace existing files")
        add_json(parser, "a summary as JSON")
    _add_heights(parser)
    with parser.section("products"):
        parser.add_argument("--products", type=Path, metavar="DIR", help="store the products marked by the description")
        parser.add_argument(
            "--products-by", default="", metavar="TOPIC",
            help="poses that tie the products to their frame, or none (default: the first odometry in map)",
        )  # fmt: skip
        parser.add_argument(
            "--world", default="", metavar="NAME", help="name of that frame, the same for recordings that share it"
        )


def _add_heights(parser: CommandParser) -> None:
    with parser.section("heights"):
        parser.add_argument("--dem", type=Path, metavar="FILE", help="write heights of the last cloud (GeoTIFF, .tif)")
        parser.add_argument("--dem-cell", type=number, default=0.05, metavar="M", help="edge of a cell in m")
        parser.add_argument(
            "--dem-by", default="", metavar="TOPIC",
            help="poses that put the heights into their frame (default: the root of the static tf)",
        )  # fmt: skip
        parser.add_argument(
            "--dem-origin", type=number, nargs=3, default=(0.0, 0.0, 0.0), metavar=("E", "N", "UP"),
            help="position in m of the origin of the heights' frame in the map grid (default: 0 0 0)",
        )  # fmt: skip
        parser.add_argument("--dem-truth", type=Path, metavar="FILE", help="true heights (GeoTIFF) to compare with")


def run(chosen: argparse.Namespace) -> int:
    """Run a pipeline, or name those that there are."""
    if chosen.steps:
        from fieldplay_cdff.cli.step_list import print_steps

        if not chosen.list:
            raise UsageError("--steps belongs to --list: fuse --list --steps")
        return print_steps(as_json=chosen.json)
    if chosen.list:
        return _list(as_json=chosen.json)
    if chosen.out is None:
        raise UsageError("expected ARCHIVE, DFPC and OUT; fuse --list names the pipelines")
    _require_output_paths(chosen)
    from fieldplay.recording import open_recording

    settings, own = _settings(chosen)
    with progress_bar("opening", "MB") as bar, track_opening(bar):
        data = open_recording(chosen.archive, chosen.dataset, own)
    with data:
        return _fuse(chosen, data, settings)


def _fuse(chosen: argparse.Namespace, data: Any, settings: Any) -> int:
    from fieldplay_cdff.offline.offline_run import (
        FusionPart,
        FusionRun,
        bindings,
        reader_of,
        run_fusion,
    )
    from fieldplay_cdff.pipeline import pipeline_of
    from fieldplay_cdff.pipeline.chains import source_of
    from fieldplay_cdff.pipeline.pipeline_graph import graph_of

    options = {"threads": min(chosen.threads, MAX_THREADS), "seed": chosen.seed, "stop_after": chosen.stop_after}
    options["measures_memory"] = chosen.stats is not None
    graph = graph_of(source_of(chosen.dfpc), chosen.implementation, settings)
    for text in graph.notes:
        note(text)
    models_of, arguments = _models(chosen.input, graph.inputs)
    inputs = {name: port.type for name, port in graph.inputs.items() if name not in models_of}
    spec = data.spec
    sources = bindings(data, inputs, arguments, spec.fusion if spec else {})
    reader = reader_of(data, sources, chosen.every)
    models, baseline_m = reader.models()
    with pipeline_of(graph, models, baseline_m, **options) as pipeline:
        part = FusionPart(start_s=chosen.start, duration_s=chosen.duration, passthrough=chosen.topics)
        outputs = _outputs(chosen, pipeline, namespace=spec.namespace if spec else "")
        with (
            _keeper(chosen, graph, outputs, data, reader) as keeper,
            progress_bar("fusing", "inputs") as bar,
            deferred_interrupts() as stop_if_requested,
        ):

            def progress(fraction: float, done: int) -> None:
                stop_if_requested()
                bar(fraction, done)

            run_ = FusionRun(data, pipeline, reader, outputs, part, progress, keeper, models_of)
            result = run_fusion(run_, chosen.out, overwrite=chosen.overwrite, strict=chosen.strict)
        _write_extra_files(chosen, data, run_, result)
        _print_summary(chosen, pipeline, sources, result)
    if result.nothing:
        raise ArchiveError(result.nothing)
    return 0


def _models(arguments: Sequence[str], ports: Any) -> tuple[dict[str, Any], list[str]]:
    """The inputs that are model files, and the topics of the others."""
    from fieldplay_cdff.offline.model_files import cloud_of_model, is_model_file
    from fieldplay_cdff.pipeline.pipeline_graph import HOLD

    models, others = {}, []
    for word in arguments:
        port, _, path = word.partition("=")
        if not is_model_file(path) or port not in ports:
            others.append(word)
        elif (ports[port].type, ports[port].policy) != ("Pointcloud", HOLD):
            raise UsageError(f"--input: a file can be a cloud that stays, which {port} is not")
        else:
            models[port] = cloud_of_model(Path(path))
    return models, others


@contextmanager
def _keeper(chosen: argparse.Namespace, graph: Any, outputs: Any, data: Any, reader: Any) -> Iterator[Any]:
    """The recorder of products, if requested."""
    if chosen.products is None:
        yield None
        return
    from fieldplay_cdff.offline.product_anchor import anchoring_of
    from fieldplay_cdff.products.product_recorder import ProductKeeper
    from fieldplay_cdff.products.store import ProductStore

    sources = {source.port: topic for topic, source in reader.sources.items()}
    with ProductStore(chosen.products, is_written=True, report=note) as store:
        anchoring = anchoring_of(data, reader, chosen=chosen.products_by, world=chosen.world, report=note)
        keeper = ProductKeeper(store, graph, outputs, sources, anchoring=anchoring)
        yield keeper
        print_message(f"{chosen.products}: {pluralize(keeper.stored, 'product')} kept")


def _outputs(chosen: argparse.Namespace, pipeline: Any, *, namespace: str) -> Any:
    from fieldplay_cdff.io.outputs import OutTopics

    name = (namespace if chosen.namespace is None else chosen.namespace).strip("/")
    return OutTopics(
        ports=pipeline.outputs,
        prefix="/" + "/".join(part for part in (name, pipeline.topic) if part),
        scene=f"{pipeline.topic}/scene",
        bodies=pipeline.bodies,
    )


def _require_output_paths(chosen: argparse.Namespace) -> None:
    """Raise UsageError where an output cannot be written."""
    require_output(chosen.archive, chosen.out, overwrite=chosen.overwrite)
    files = {
        chosen.tum: (".tum", ".txt"),
        chosen.ply: (".ply",),
        chosen.map: (".npz",),
        chosen.stats: (".json",),
        chosen.dem: (".tif", ".tiff"),
    }
    for path, suffixes in files.items():
        if path is not None:
            require_output_file(chosen.archive, path, suffixes, overwrite=chosen.overwrite)
    if chosen.products is None and (chosen.products_by or chosen.world):
        raise UsageError("--products-by and --world are about what --products DIR keeps: give that, too")
    if chosen.dem_cell <= 0:
        raise UsageError(f"--dem-cell: expected metres above 0, got {chosen.dem_cell:g}")
    if chosen.dem is None and (chosen.dem_truth or chosen.dem_by or any(chosen.dem_origin)):
        raise UsageError("--dem-truth, --dem-by and --dem-origin are about the heights of --dem, which is not there")
    if chosen.dem_truth is not None and not chosen.dem_truth.is_file():
        raise UsageError(f"--dem-truth: {chosen.dem_truth}: there is no such file")
    if chosen.start > LONGEST_S:
        raise UsageError(f"--start: expected at most {LONGEST_S:g} s, got {chosen.start:g}")


def _settings(chosen: argparse.Namespace) -> tuple[Any, dict[str, Any]]:
    """The parameters of steps, and of the dataset."""
    from fieldplay_cdff.pipeline import configuration_of_arguments, settings_of_arguments
    from fieldplay_cdff.pipeline.chains import source_of

    steps = {step.id for chain in source_of(chosen.dfpc).description.chains for step in chain.steps}
    names = {word: word.partition("=")[0] for word in chosen.set}
    of_steps = [word for word, name in names.items() if "." in name or name in steps]
    own = parameters([word for word in chosen.set if word not in of_steps])
    configuration = replace(settings_of_arguments(of_steps), preset=chosen.preset)
    return configuration_of_arguments(chosen.config).and_then(configuration), own


def _write_extra_files(chosen: argparse.Namespace, data: Any, run_: Any, result: Any) -> None:
    from fieldplay.trajectories.trajectory import Trajectory, tum_lines
    from fieldplay_cdff.offline.product_files import ply_bytes
    from fieldplay_cdff.stereo.map_files import save_map

    if chosen.tum is not None:
        poses = np.array(result.poses).reshape(-1, 4, 4)
        trajectory = result.trajectory or Trajectory(stamp_ns=np.array(result.stamps_ns, np.int64), poses=poses)
        write_atomically(chosen.tum, "".join(tum_lines(trajectory)).encode())
    if chosen.map is not None:
        if result.keyframes is None:
            note(f"{chosen.map}: the pipeline made no map of keyframes, so there is none")
        else:
            save_map(chosen.map, result.keyframes)
    if chosen.ply is not None:
        if result.cloud is None:
            note(f"{chosen.ply}: the pipeline gave no cloud, so there is none")
        else:
            write_atomically(chosen.ply, ply_bytes(result.cloud))
    if chosen.dem is not None:
        _write_heights(chosen, data, run_.reader, result)
    if chosen.stats is not None:
        statistics = {**run_.pipeline.statistics.as_dict(), **_height_errors(result)}
        write_atomically(chosen.stats, json.dumps(statistics, indent=1).encode())


def _height_errors(result: Any) -> dict[str, Any]:
    """Compare the heights with the true ones, if there are any."""
    return {"dem": result.heights.as_dict()} if result.heights else {}


def _write_heights(chosen: argparse.Namespace, data: Any, reader: Any, result: Any) -> None:
    from fieldplay_cdff.offline.elevation import (
        HeightOptions,
        elevation_in_frame,
        geotiff_bytes,
        height_error,
        shift_grid,
    )

    grid, frame = result.grid, "the frame of the poses"
    if grid is None and result.cloud is None:
        note(f"{chosen.dem}: the pipeline gave neither cloud nor map, so there is none")
        return
    if grid is None:
        options = HeightOptions(cell_m=chosen.dem_cell, by=chosen.dem_by)
        grid, frame = elevation_in_frame(data, result.cloud, reader, result.scene_ns, options)
    elif chosen.dem_by:
        note("--dem-by: the pipeline's map is in the frame of the poses that made it, and stays there")
    grid = shift_grid(grid, chosen.dem_origin)
    write_atomically(chosen.dem, geotiff_bytes(grid))
    print_message(f"{chosen.dem}: {int((grid.count > 0).sum())} cells of {grid.resolution_m:g} m in {frame}")
    if chosen.dem_truth is not None:
        result.heights = height_error(grid, chosen.dem_truth)


def _print_issues(pipeline: Any, result: Any) -> None:
    """Print what was skipped and what failed, each with its location, up to a limit."""
    from fieldplay_cdff.pipeline.pipeline_run import MAX_FAILURES

    for line in result.notes:
        note(line)
    for topic, skipped in result.skipped.items():
        note(f"{topic}: {skipped} skipped")
    for topic, lost in result.points_lost.items():
        if lost:
            note(f"{topic}: {pluralize(lost, 'point')} left out, which are no numbers or too far")
    for line in pipeline.statistics.unmatched_inputs():
        note(line)
    for failure in list(pipeline.failures)[:3]:
        note(str(failure))
    if len(pipeline.failures) > 3:
        note(f"and {len(pipeline.failures) - 3} more failures; --stats counts them by step")
    for step in pipeline.statistics.steps.values():
        if step.most_in_a_row >= MAX_FAILURES:
            note(f"{step.name} failed {step.most_in_a_row} times in a row")


def _print_summary(chosen: argparse.Namespace, pipeline: Any, sources: Sequence[Any], result: Any) -> None:
    _print_issues(pipeline, result)
    if refused := pipeline.statistics.refused:
        reasons = ", ".join(pipeline.statistics.refusals())
        note(f"no result for {pluralize(sum(refused.values()), 'set')} of inputs: {reasons}")
    if chosen_parameters := _parameter_texts(pipeline.chosen):
        print_message(f"parameters by the camera: {', '.join(chosen_parameters)}")
    if chosen.json:
        print_line(json.dumps(_as_json(pipeline, sources, result), indent=1))
        return
    for line in pipeline.statistics.table():
        print_message(line)
    messages = sum(result.counts.values())
    print_line(f"{chosen.out}: {count_noun(messages, 'message')} on {count_noun(len(result.counts), 'topic')}")
    if result.poses:
        length_m = float(np.linalg.norm(np.diff([pose[:3, 3] for pose in result.poses], axis=0), axis=1).sum())
        print_line(f"{pluralize(len(result.poses), 'pose')}, {length_m:.2f} m of path, {result.wall_s:.1f} s")
    if result.heights:
        print_line(f"{chosen.dem_truth}: {result.heights}")


def _parameter_texts(parameters: Mapping[str, Any], prefix: str = "") -> list[str]:
    """Nested parameters as texts STEP.GROUP.NAME=VALUE."""
    texts: list[str] = []
    for name, value in parameters.items():
        nested = isinstance(value, Mapping)
        texts += _parameter_texts(value, f"{prefix}{name}.") if nested else [f"{prefix}{name}={value:g}"]
    return texts


def _as_json(pipeline: Any, sources: Sequence[Any], result: Any) -> dict[str, Any]:
    """Print a summary of the run; --stats has more of each step."""
    statistics = pipeline.statistics.as_dict()
    steps = [
        {
            **{name: step[name] for name in ("name", "calls", "failures")},
            "cpu_s": step["cpu_s"]["total"],
            "wall_s": {name: step["wall_s"][name] for name in ("mean", "p50", "p95", "max")},
        }
        for step in statistics["steps"]
    ]
    return {
        "dfpc": pipeline.name,
        "implementation": pipeline.implementation,
        "inputs": {source.port: source.topic for source in sources},
        "given": pipeline.statistics.input_sets,
        "accepted": statistics["accepted"] if "success" in pipeline.outputs else statistics["sets"],
        "refused": statistics["refused"],
        "refused_because": statistics["refused_because"],
        "parameters": pipeline.chosen,
        "notes": list(pipeline.graph.notes),
        "cpu_s": statistics["cpu_s"],
        "wall_s": result.wall_s,
        "steps": steps,
        **_height_errors(result),
    }


def _list(*, as_json: bool) -> int:
    from fieldplay_cdff.pipeline import pipelines

    known = pipelines()
    if as_json:
        print_line(json.dumps([info.as_dict() for info in known], indent=1))
        return 0
    width = shutil.get_terminal_size((120, 40)).columns
    for info in known:
        ports = f"{', '.join(info.inputs)} -> {', '.join(info.outputs)}"
        notes = [f"    {name}: {text}" for name, text in info.notes.items()]
        for text in (f"{info.name}: {info.doc}", f"    {ports}", f"    {', '.join(info.implementations)}", *notes):
            for line in textwrap.wrap(text, max(width, 40), subsequent_indent=" " * 8, break_long_words=False):
                print_line(line)
    return 0
