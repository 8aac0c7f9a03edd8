"""The figures of the fusion pipelines, each from a sample with exact ground truth."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from gallery_sources import Floats, Sources, axes_of_row, draw_image, draw_path, equal_axes

import fieldplay
from fieldplay.geometry.transforms import inverse_from_transform, rotation_from_quaternion, transform_from_rotation
from fieldplay.messages.cdr_layout import typestore

BOX = {"scene": "box", "circle_deg_s": 18.0, "image_rate_hz": 1.0}


def transforms(record: dict[str, Any]) -> Floats:
    """Poses (n, 4, 4) of an odometry's columns."""
    return transform_from_rotation(rotation_from_quaternion(record["orientation_xyzw"]), record["position_m"])


def truth(archive: Path, name: str) -> dict[str, Any]:
    """The arrays of a sample's further truth."""
    with np.load(archive.with_name(f"{archive.name}.{name}.npz")) as arrays:
        return {key: arrays[key] for key in arrays}


def box(sources: Sources) -> tuple[Path, dict[str, Any]]:
    """The sample with a box, and what is true of it."""
    archive = sources.sample("sherpatt", seconds=10, settings=BOX)
    return archive, truth(archive, "box")


def in_map(points: Any, map_t_left: Floats) -> Floats:
    """Points of a cloud in the first left camera's frame as positions (n, 3) in map."""
    positions = np.column_stack([points[name] for name in "xyz"]).astype(float)
    return np.asarray(positions @ map_t_left[:3, :3].T + map_t_left[:3, 3])


def draw_cloud(axes: Any, positions: Floats, true: dict[str, Any]) -> None:
    """The cloud about the box from above."""
    center = true["map_T_box"][:3, 3]
    near = np.hypot(*(positions - center)[:, :2].T) < 6
    shown = positions[near][np.argsort(positions[near][:, 2])]
    axes.scatter(shown[:, 0], shown[:, 1], c=shown[:, 2], s=0.3, cmap="viridis", linewidths=0)
    axes.set(title="cloud, height", xlabel="x, m", aspect="equal")


def last_cloud(data: "fieldplay.Recording") -> Any:
    """The last cloud of a pipeline's bag."""
    *_, (_, points) = data.clouds("cloud")
    return points


def reconstruction(sources: Sources) -> Any:
    """Left image, cloud from above, and the camera's positions against the truth."""
    archive, true = box(sources)
    out = sources.command("reconstruction", "fuse", archive, "Reconstruction3D")
    figure, (left, cloud, plane) = axes_of_row(3, widths=(1.2, 1, 1))
    with fieldplay.open(archive) as data:
        draw_image(left, next(image for _, image in data.images("stereo/left/image_raw")), "left image")
    with fieldplay.open(out) as data:
        draw_cloud(cloud, in_map(last_cloud(data), true["map_T_left"][0]), true)
        positions = data.records("reconstruction_3d/pose")["position_m"]
    first = true["map_T_left"][0]
    draw_path(plane, true["map_T_left"][:, :3, 3], "ground truth", marker="o", ms=6, mfc="none")
    draw_path(plane, positions @ first[:3, :3].T + first[:3, 3], "pose", marker="x", ms=5)
    return figure


def draw_box(axes: Any, map_t_box: Floats, sizes_m: Floats, color: str, label: str) -> None:
    """The outline of the box from above."""
    corners = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1], [-1, -1]]) * sizes_m[:2] / 2
    outline = np.column_stack([corners, np.zeros(5)]) @ map_t_box[:3, :3].T + map_t_box[:3, 3]
    axes.plot(outline[:, 0], outline[:, 1], color=color, lw=1.5, label=label)
    axes.legend(fontsize=8)


def box_model(sources: Sources, sizes_m: Floats) -> Path:
    """Points of the box about its middle, without the side on which it stands."""
    from fieldplay_cdff.offline.product_files import ply_bytes
    from fieldplay_cdff.steps.values import Cloud

    random = np.random.default_rng(0)
    areas = np.repeat([sizes_m[1] * sizes_m[2], sizes_m[0] * sizes_m[2], sizes_m[0] * sizes_m[1]], 2)
    areas[4] = 0
    faces = random.choice(6, 5000, p=areas / areas.sum())
    points = random.uniform(-1, 1, (len(faces), 3))
    points[np.arange(len(faces)), faces // 2] = np.where(faces % 2 == 0, -1.0, 1.0)
    path = sources.work / "box.ply"
    path.write_bytes(ply_bytes(Cloud(points=points * sizes_m / 2)))
    return path


def identified_box(sources: Sources, out: Path, topic: str) -> Any:
    """The cloud with the box where a pipeline found it, and where it is."""
    _, true = box(sources)
    first = true["map_T_left"][0]
    figure, (above, side) = axes_of_row(2)
    with fieldplay.open(out) as data:
        pose = first @ transforms(data.records(f"{topic}/pose"))[-1]
    with fieldplay.open(sources.work / "reconstruction") as data:
        positions = in_map(last_cloud(data), first)
    for axes in (above, side):
        draw_cloud(axes, positions, true)
        draw_box(axes, true["map_T_box"], true["sizes_m"], "#ee7733", "ground truth")
        draw_box(axes, pose, true["sizes_m"], "#cc3311", "found")
    center, reach = true["map_T_box"][:3, 3], true["sizes_m"].max()
    side.set(xlim=center[0] + [-reach, reach], ylim=center[1] + [-reach, reach], title="detail")
    return figure


def reconstruction_and_identification(sources: Sources) -> Any:
    """The box found in the reconstruction."""
    archive, true = box(sources)
    reconstruction(sources)
    options = ["--input", f"model={box_model(sources, true['sizes_m'])}"]
    options += ["--set", "gate.GeneralParameters.CloudUpdateTime=9"]
    out = sources.command("identified", "fuse", archive, "ReconstructionAndIdentification", options=options)
    return identified_box(sources, out, "reconstruction_and_identification")


def model_localisation(sources: Sources) -> Any:
    """The box found in the clouds of another pipeline's bag."""
    _, true = box(sources)
    scene = sources.command("reconstruction", "fuse", box(sources)[0], "Reconstruction3D")
    options = ["--input", f"model={box_model(sources, true['sizes_m'])}"]
    options += ["--input", "scene=/sherpatt/reconstruction_3d/cloud"]
    out = sources.command("localised", "fuse", scene, "PointCloudModelLocalisation", options=options)
    return identified_box(sources, out, "model_localisation")


def tum_positions(path: Path) -> Floats:
    """Stamps and positions (n, 4) of a TUM file."""
    return np.loadtxt(path)[:, :4]


def camera_truth(archive: Path, stamps_s: Floats) -> Floats:
    """True positions (n, 3) of the left camera in its first frame, at the given times."""
    with fieldplay.open(archive) as data:
        edges = {edge.child: edge for edge in data.tf_static}
        transform, frame = np.eye(4), "camera_left"
        while frame != "base_link":
            transform, frame = edges[frame].parent_t_child @ transform, edges[frame].parent
    rows = np.loadtxt(archive.with_name(f"{archive.name}.truth.csv"), delimiter=",", skiprows=1)
    poses = transform_from_rotation(rotation_from_quaternion(rows[:, 4:8]), rows[:, 1:4]) @ transform
    index = np.searchsorted(rows[:, 0] / 1e9, stamps_s - 1e-3)
    index = np.clip(index, 0, len(rows) - 1)
    return np.asarray((inverse_from_transform(poses[index[0]]) @ poses[index])[:, :3, 3])


def draw_camera_plane(axes: Any, positions: Floats, label: str, **style: Any) -> None:
    """Positions of a camera in its first optical frame, in the plane of x and z."""
    axes.plot(positions[:, 0], positions[:, 2], label=label, lw=1.2, **style)
    axes.set(xlabel="x (right), m", ylabel="z (forward), m")
    equal_axes(axes)


def draw_errors(axes: Any, seconds: Floats, estimate: Floats, true: Floats, label: str) -> None:
    """Distances of estimated from true positions over time."""
    axes.plot(seconds - seconds[0], np.linalg.norm(estimate - true, axis=1), label=label, lw=1.2)
    axes.set(title="position error, m", xlabel="s")
    axes.legend(fontsize=8)


def lap(sources: Sources) -> Path:
    """A lap of SherpaTT."""
    return sources.sample("sherpatt", seconds=74, settings={"route": "loop"})


def estimated(sources: Sources, name: str, archive: Path, *arguments: str) -> Floats:
    """Stamps and positions (n, 4) that a pipeline writes as TUM."""
    path = sources.work / f"{name}.tum"
    sources.command(name, "fuse", archive, *arguments, "--tum", path)
    return tum_positions(path)


def visual_odometry(sources: Sources) -> Any:
    """A lap by VisualOdometry against the truth."""
    archive = lap(sources)
    rows = estimated(sources, "visual_odometry", archive, "VisualOdometry")
    true = camera_truth(archive, rows[:, 0])
    figure, (plane, errors) = axes_of_row(2)
    draw_camera_plane(plane, true, "ground truth")
    draw_camera_plane(plane, rows[:, 1:], "VisualOdometry")
    draw_errors(errors, rows[:, 0], rows[:, 1:], true, "VisualOdometry")
    return figure


def stereo_slam(sources: Sources) -> Any:
    """The same lap by VisualSlamStereo, with its error beside that of VisualOdometry."""
    archive = lap(sources)
    path = sources.work / "stereo_slam.npz"
    rows = estimated(sources, "stereo_slam", archive, "VisualSlamStereo", "--map", str(path))
    odometry = estimated(sources, "visual_odometry", archive, "VisualOdometry")
    true = camera_truth(archive, rows[:, 0])
    figure, (plane, errors) = axes_of_row(2)
    draw_camera_plane(plane, true, "ground truth")
    with np.load(path) as arrays:
        poses = arrays["keyframe_pose"]
        order = {int(key): index for index, key in enumerate(arrays["keyframe_id"])}
        closures = arrays["edge_ends"][arrays["edge_is_closure"].astype(bool)]
    draw_camera_plane(plane, poses[:, :3, 3], "keyframes", ls="", marker=".", ms=4)
    for first, second in closures:
        ends = poses[[order[int(first)], order[int(second)]], :3, 3]
        plane.plot(ends[:, 0], ends[:, 2], color="#cc3311", lw=0.6)
    draw_errors(errors, odometry[:, 0], odometry[:, 1:], camera_truth(archive, odometry[:, 0]), "VisualOdometry")
    draw_errors(errors, rows[:, 0], rows[:, 1:], true, "VisualSlamStereo, path")
    return figure


def map_localisation(sources: Sources) -> Any:
    """Another day's drive in the map of the lap."""
    stereo_slam(sources)
    archive = sources.sample("sherpatt", seconds=16, settings={"route": "again"})
    path = sources.work / "stereo_slam.npz"
    setting = f"localisation.GeneralParameters.MapFile={path}"
    rows = estimated(sources, "map_localisation", archive, "MapLocalisation", "--set", setting)
    figure, (left, plane) = axes_of_row(2)
    with fieldplay.open(archive) as data:
        draw_image(left, next(image for _, image in data.images("stereo/left/image_raw")), "another day: left image")
    with np.load(path) as arrays:
        draw_camera_plane(plane, arrays["keyframe_pose"][:, :3, 3], "keyframes of the map", ls="", marker=".", ms=4)
    draw_camera_plane(plane, rows[:, 1:], "MapLocalisation")
    return figure


def rover_tracking(sources: Sources) -> Any:
    """An image with the rover, and its positions in the camera against the truth."""
    archive = sources.sample("sherpatt", seconds=11, settings={"scene": "passing", "color_every": 1})
    options = ["--set", "wheels.Model.WheelBase=0.8"]
    out = sources.command("rover_tracking", "fuse", archive, "ModelBasedTracker", options=options)
    arrays = truth(archive, "passing")
    figure, (image_axes, plane) = axes_of_row(2)
    true = (inverse_from_transform(arrays["map_T_left"]) @ arrays["map_T_robot"])[:, :3, 3]
    with fieldplay.open(out) as data:
        record = data.records("model_tracker/pose")
    middle = record["stamp_ns"][len(record["stamp_ns"]) // 2]
    with fieldplay.open(archive) as data:
        shown = min(data.images("color/image_raw"), key=lambda image: abs(image[0] - middle))[1]
    draw_image(image_axes, shown, "color/image_raw")
    draw_camera_plane(plane, true, "ground truth")
    draw_camera_plane(plane, record["position_m"], "ModelBasedTracker", ls="", marker="x", ms=4)
    return figure


def mesh(path: Path) -> tuple[Floats, list[tuple[int, int]]]:
    """Vertices (n, 3) of an OBJ file and the ends of its edges."""
    lines = [line.split() for line in path.read_text().splitlines()]
    vertices = np.array([line[1:4] for line in lines if line[:1] == ["v"]], float)
    edges: set[tuple[int, int]] = set()
    for line in (line for line in lines if line[:1] == ["f"]):
        corners = [int(text.split("/")[0]) - 1 for text in line[1:]]
        edges |= {(min(ends), max(ends)) for ends in zip(corners, corners[1:] + corners[:1], strict=True)}
    return vertices, sorted(edges)


def visual_tracking(sources: Sources) -> Any:
    """Two images with the model's edges at the estimated state."""
    archive = sources.sample("satellite", seconds=20)
    options = ["--input", "init=/satellite/init", "--set", f"tracker.Model.File={archive / 'model.obj'}"]
    out = sources.command("visual_tracking", "fuse", archive, "ModelBasedVisualTracking", options=options)
    vertices, edges = mesh(archive / "model.obj")
    figure, rows = axes_of_row(2)
    with fieldplay.open(out) as data:
        record = data.records("state")
    with fieldplay.open(archive) as data:
        name = next(topic for topic in data.topics if "left" in topic and "image" in topic)
        info = next(data.messages("left/camera_info"))
        images = dict(data.images(name))
    matrix = np.reshape(typestore().deserialize_cdr(info.data, info.type).k, (3, 3))
    for axes, index in zip(rows, (5, 45), strict=True):
        draw_image(axes, images[int(record["stamp_ns"][index])], f"{(index / 3):.0f} s")
        pose = transforms(record)[index]
        pixels = (vertices @ pose[:3, :3].T + pose[:3, 3]) @ matrix.T
        pixels = pixels[:, :2] / pixels[:, 2:]
        for ends in edges:
            axes.plot(*pixels[list(ends)].T, color="#ee7733", lw=0.8)
    return figure


def haptic_scanning(sources: Sources) -> Any:
    """Touched points above the true ground."""
    from fieldplay_samples.write_sample import usual_seconds

    settings = {"scene": "touch"}
    archive = sources.sample("ida", seconds=usual_seconds("ida", settings), settings=settings)
    options = ["--set", "forceMeshGenerator.GeneralParameters.TareSamples=40"]
    out = sources.command("haptic_scanning", "fuse", archive, "HapticScanningInArmBase", options=options)
    arrays = truth(archive, "contacts")
    with fieldplay.open(out) as data:
        points = last_cloud(data)
    figure, (above, errors) = axes_of_row(2)
    field = above.contourf(arrays["x_m"], arrays["y_m"], arrays["ground_z_m"], 20, cmap="viridis")
    figure.colorbar(field, ax=above, label="true ground, z down, m")
    above.plot(points["x"], points["y"], "r.", ms=3)
    above.set(title="touched points", xlabel="x, m", ylabel="y, m", aspect="equal")
    column = np.clip(np.searchsorted(arrays["x_m"], points["x"]), 0, len(arrays["x_m"]) - 1)
    row = np.clip(np.searchsorted(arrays["y_m"], points["y"]), 0, len(arrays["y_m"]) - 1)
    errors.hist(1000 * (points["z"] - arrays["ground_z_m"][row, column]), bins=40)
    errors.set(title="depth below the true ground", xlabel="mm", ylabel="points")
    return figure


def elevation_mapping(sources: Sources) -> Any:
    """Mean height and number of points of the cells that --dem writes for the reconstruction."""
    import tifffile

    path = sources.work / "heights.tif"
    options = ["--dem", path, "--dem-cell", "0.1", "--dem-by", "dgps/odom"]
    sources.command("heights", "fuse", box(sources)[0], "Reconstruction3D", options=options)
    with tifffile.TiffFile(path) as file:
        layers = file.asarray()
    figure, (mean, count) = axes_of_row(2)
    for axes, layer, title in ((mean, layers[0], "mean height, m"), (count, layers[-1], "points per cell")):
        shown = np.where(layers[-1] > 4, layer, np.nan)
        low, high = np.nanpercentile(shown, [2, 98])
        image = axes.imshow(shown, cmap="viridis", vmin=low, vmax=high)
        figure.colorbar(image, ax=axes)
        axes.set(title=title, xticks=[], yticks=[])
    return figure


FIGURES: Sequence[Callable[[Sources], Any]] = (
    reconstruction,
    reconstruction_and_identification,
    model_localisation,
    visual_odometry,
    stereo_slam,
    map_localisation,
    rover_tracking,
    visual_tracking,
    haptic_scanning,
    elevation_mapping,
)
