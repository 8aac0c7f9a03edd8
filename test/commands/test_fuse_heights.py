"""The heights that `fieldplay fuse --dem` writes, as a reader of GeoTIFFs has them."""

from pathlib import Path

import numpy as np
import pytest
import tifffile

import fieldplay
from fieldplay.bags.storage import channel_of_type
from fieldplay.bags.writer import BagWriter
from fieldplay.cli.main import main
from fieldplay.core.errors import ArchiveError
from fieldplay.geometry.extrinsics import Edge
from fieldplay.geometry.transforms import rotation_from_fixed_xyz, transform_from_rotation
from fieldplay.messages.cdr_layout import typestore
from fieldplay.messages.point_clouds import cloud_message
from fieldplay.streams.message_block import MessageBlock, messages_of_channel
from fieldplay_cdff.io.outputs import IMAGE, METADATA, OutTopics
from fieldplay_cdff.offline.elevation import (
    BANDS,
    elevation_of,
    geotiff_bytes,
    height_error,
    root_t_frame,
    shift_grid,
)
from fieldplay_cdff.steps.values import Cloud


def test_slope_before_camera_comes_back_with_its_location_and_heights(tmp_path: Path) -> None:
    x, y = (each.reshape(-1) for each in np.meshgrid(np.arange(2, 4, 0.01), np.arange(-1, 1, 0.01)))
    ground = np.stack([x, y, 0.1 * x - 0.3], axis=1)  # in base_link
    position = transform_from_rotation(rotation_from_fixed_xyz([-np.pi / 2, 0, -np.pi / 2]), [0.5, 0.1, 1.0])
    edges = [Edge("base_link", "mast", np.eye(4)), Edge("mast", "left_camera", position)]
    root, base_t_camera = root_t_frame(edges, "left_camera")
    scene = (ground - position[:3, 3]) @ position[:3, :3]
    grid = elevation_of(Cloud(points=scene), base_t_camera, 0.25)
    (tmp_path / "heights.tif").write_bytes(geotiff_bytes(grid))
    with tifffile.TiffFile(tmp_path / "heights.tif") as file:
        layers = dict(zip(BANDS, file.asarray(), strict=True))
        scale, tie = (file.pages[0].tags[number].value for number in (33550, 33922))
    assert root == "base_link" and scale[:2] == (0.25, 0.25)
    rows, columns = np.nonzero(layers["count"] > 300)
    x = tie[3] + (columns + 0.5) * 0.25
    assert len(rows) >= 48 and x.min() < 2.3 and x.max() > 3.7
    assert layers["mean"][rows, columns] == pytest.approx(0.1 * x - 0.3, abs=2e-3)
    assert (layers["highest"] >= layers["lowest"])[rows, columns].all()
    north = tie[4] - (rows + 0.5) * 0.25
    assert north.max() == pytest.approx(-north.min(), abs=0.3)


def ground() -> np.ndarray:
    """Points of the ground, with a step."""
    x, y = (each.reshape(-1) for each in np.meshgrid(np.arange(1, 3, 0.02), np.arange(-1, 1, 0.02)))
    return np.stack([x, y, np.where(x > 2, 0.3, 0.0)], axis=1)


def write_clouds(bag: Path, seen: list[tuple[np.ndarray, np.ndarray]]) -> Path:
    """A bag of clouds and of the poses from which they were seen, a second apart."""
    outputs = OutTopics(ports={"cloud": "Pointcloud", "odom": "Pose"}, prefix="", scene="lidar", tf=False)
    with BagWriter(bag) as writer:
        channels = {name: writer.add_channel(channel_of_type(name, kind)) for name, kind in outputs.topics().items()}
        for second, (points, pose) in enumerate(seen):
            rows = np.zeros(len(points), [(axis, "<f4") for axis in "xyz"])
            rows["x"], rows["y"], rows["z"] = points.T
            stamp_ns = (1_600_000_000 + second) * 10**9
            data = b"".join(map(bytes, cloud_message(rows, stamp_ns, "lidar")))
            for topic, sent in (("/cloud", data), ("/odom", outputs.messages("odom", pose, stamp_ns)[0].data)):
                writer.write(
                    messages_of_channel(channels[topic], np.array([stamp_ns]), MessageBlock.of_messages([sent]))
                )
    return bag


def above(height_m: float) -> np.ndarray:
    return transform_from_rotation(np.eye(3), [0.0, 0.0, height_m])


def test_clouds_that_hold_nothing_are_skipped_with_their_location_and_lost_points_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    half = ground()
    half[::2] = np.nan
    far, none = ground() + 2e4, np.zeros((0, 3))
    lost = above(np.nan)
    seen = [(each, above(0.0)) for each in (ground(), half, far, none, ground() * np.nan)]
    bag = write_clouds(tmp_path / "bag", [*seen, (ground(), lost), (ground(), above(0.0))])
    assert main(["fuse", str(bag), "ElevationMapping", str(tmp_path / "out"), "--input", "pose=/odom"]) == 0
    output = capsys.readouterr().err
    for second, count in ((2, 10000), (3, 0), (4, 10000)):
        assert (
            f"/cloud at {1_600_000_000 + second}.000 s: none of its {count} points has numbers within 10000 m" in output
        )
    assert "/odom at 1600000005.000 s: expected a pose, got the position [0.0, 0.0, nan]" in output
    assert "/cloud: 5000 points left out" in output and "/cloud: 3 skipped" in output and "/odom: 1 skipped" in output
    with fieldplay.open(tmp_path / "out") as data:
        assert data.topics["/elevation_map/map"].count == 3


def test_clouds_and_poses_become_map_with_its_location(tmp_path: Path) -> None:
    """Two clouds of one step, seen from two places."""
    out = tmp_path / "out"
    seen = [(ground() - above(height_m)[:3, 3], above(height_m)) for height_m in (0.5, 0.8)]
    bag = write_clouds(tmp_path / "bag", seen)
    arguments = ["--input", "pose=/odom", "--set", "map.GeneralParameters.Resolution=0.1"]
    assert main(["fuse", str(bag), "ElevationMapping", str(out), *arguments, "--dem", str(tmp_path / "map.tif")]) == 0
    with fieldplay.open(out) as data:
        (_, _, metadata, _), (_, _, image, _) = (
            list(data.messages(f"elevation_map/{name}"))[-1] for name in ("map_metadata", "map")
        )
    position, picture = typestore().deserialize_cdr(metadata, METADATA), typestore().deserialize_cdr(image, IMAGE)
    assert (position.resolution, position.width, position.height) == (pytest.approx(0.1), picture.width, picture.height)
    assert (position.origin.position.x, position.origin.position.y) == pytest.approx((1.0, -1.0))
    heights = np.frombuffer(picture.data, np.float32).reshape(picture.height, picture.width)
    columns = position.origin.position.x + (np.arange(picture.width) + 0.5) * 0.1
    assert heights[5, columns < 1.95] == pytest.approx(0.0, abs=1e-6)
    assert heights[5, columns > 2.05] == pytest.approx(0.3, abs=1e-6)
    with tifffile.TiffFile(tmp_path / "map.tif") as file:
        assert file.asarray()[BANDS.index("count")].sum() == 2 * len(ground())


def test_without_tree_it_is_not_known_which_way_is_up() -> None:
    with pytest.raises(ArchiveError, match="nothing in the static tree is above 'left_camera'"):
        root_t_frame([], "left_camera")


def hill(counts: np.ndarray | None = None) -> Cloud:
    """Points of a slope in metres of the map, 0.3 m apart from x = 0 and y = 0 on."""
    x, y = (each.reshape(-1) for each in np.meshgrid(np.arange(0.05, 3, 0.1), np.arange(0.05, 2, 0.1)))
    return Cloud(points=np.stack([x, y, 0.2 * x + 0.1 * y], axis=1), counts=counts)


def true_heights(path: Path, *, origin: tuple[float, float, float] = (0.0, 0.0, 0.0)) -> Path:
    """The same slope on a grid of 0.25 m, as another program would have written it, unknown in a corner."""
    x, y = np.meshgrid((np.arange(14) - 0.5) * 0.25, 2.5 - (np.arange(12) + 0.5) * 0.25)
    heights = (0.2 * x + 0.1 * y + origin[2]).astype(np.float32)
    heights[:4, :4] = -9999
    tags = [(33550, 12, 3, (0.25, 0.25, 0.0), True), (42113, 2, 6, "-9999", True)]
    tags += [(33922, 12, 6, (0.0, 0.0, 0.0, origin[0] - 0.25, origin[1] + 2.5, 0.0), True)]
    tifffile.imwrite(path, heights, photometric="minisblack", metadata=None, extratags=tags)
    return path


def test_heights_are_compared_with_true_ones_where_they_were_seen_often(tmp_path: Path) -> None:
    often = np.where(hill().points[:, 0] < 2, 5.0, 4.0)
    grid = elevation_of(hill(often), np.eye(4), 0.1)
    origin = (400_000.0, 3_000_000.0, 850.0)
    raised = shift_grid(grid, (*origin[:2], origin[2] + 0.03))
    actual = height_error(raised, true_heights(tmp_path / "truth.tif", origin=origin))
    assert (actual.seen, actual.seen_often) == (600, pytest.approx(400 / 600))
    assert 300 < actual.compared < 400, "the corner that is not known is left out"
    assert (actual.offset_m, actual.median_m, actual.p95_m) == pytest.approx((0.03, 0.03, 0.03), abs=2e-4)
    assert actual.about_offset_m < 2e-4


@pytest.mark.parametrize(
    ("origin", "message"),
    [
        ((1e5, 0.0, 0.0), r"truth.tif: it has x -0.2 to 3.2 m and y -0.5 to 2.5 m, the heights x 100000.1 to 100002.9"),
        ((0.0, 2.6, 0.0), "the heights .* and y 2.6 to 4.6 m: --dem-origin gives the position of their origin in it"),
    ],
)
def test_heights_next_to_true_ones_are_reported_with_both_heights(
    tmp_path: Path, origin: tuple[float, float, float], message: str
) -> None:
    grid = shift_grid(elevation_of(hill(np.full(600, 9.0)), np.eye(4), 0.1), origin)
    with pytest.raises(ArchiveError, match=message):
        height_error(grid, true_heights(tmp_path / "truth.tif"))


def test_heights_that_nothing_is_known_below_are_reported(tmp_path: Path) -> None:
    with pytest.raises(ArchiveError, match="it has no height below the 0 cells with 5 points and more"):
        height_error(elevation_of(hill(), np.eye(4), 0.1), true_heights(tmp_path / "truth.tif"))
    (tmp_path / "none.tif").write_bytes(b"II*")
    with pytest.raises(ArchiveError, match=r"none.tif: cannot be read as TIFF"):
        height_error(elevation_of(hill(), np.eye(4), 0.1), tmp_path / "none.tif")
