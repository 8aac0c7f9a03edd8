"""The heights that `fieldplay fuse --dem` writes, as a reader of GeoTIFFs has them."""

from pathlib import Path

import numpy as np
import pytest
import tifffile

from fieldplay.fusion.elevation import BANDS, elevation_of, geotiff_bytes, root_t_frame
from fieldplay_fusion.dfn.values import Cloud
from fieldplay_kinematics.extrinsics import Edge
from fieldplay_kinematics.transforms import rotation_from_fixed_xyz, transform_from_rotation
from fieldplay_messages.errors import ArchiveError


def test_a_slope_before_the_camera_comes_back_with_its_place_and_heights(tmp_path: Path) -> None:
    x, y = (each.reshape(-1) for each in np.meshgrid(np.arange(2, 4, 0.01), np.arange(-1, 1, 0.01)))
    ground = np.stack([x, y, 0.1 * x - 0.3], axis=1)  # in base_link
    place = transform_from_rotation(rotation_from_fixed_xyz([-np.pi / 2, 0, -np.pi / 2]), [0.5, 0.1, 1.0])
    edges = [Edge("base_link", "mast", np.eye(4)), Edge("mast", "left_camera", place)]
    root, base_t_camera = root_t_frame(edges, "left_camera")
    scene = (ground - place[:3, 3]) @ place[:3, :3]
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


def test_without_a_tree_it_is_not_known_which_way_is_up() -> None:
    with pytest.raises(ArchiveError, match="nothing in the static tree is above 'left_camera'"):
        root_t_frame([], "left_camera")
