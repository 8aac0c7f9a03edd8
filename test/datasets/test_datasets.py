"""The contract that the description of every dataset keeps. There is no list of datasets but the files themselves."""

import re
from collections import Counter
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from fieldplay.datasets.spec import DatasetSpec, spec_from_file
from fieldplay.geometry.extrinsics import edges_from_published, transform_from_published
from fieldplay.messages.cdr_layout import typestore
from fieldplay.messages.codec import MESSAGES
from fieldplay.messages.point_clouds import CLOUD
from fieldplay.streams.image_topics import RAW

FILES = sorted((Path(__file__).parents[2] / "config" / "datasets").glob("*.yaml"))
TOPIC = re.compile(r"/?[a-z][a-z0-9_]*(/[a-z][a-z0-9_]*)*")
FRAME = re.compile(r"[a-z][a-z0-9_]*")


@pytest.fixture(params=FILES, ids=lambda path: path.stem)
def spec(request: pytest.FixtureRequest) -> DatasetSpec:
    return spec_from_file(request.param)


def test_there_are_datasets() -> None:
    assert FILES


def test_reader_opens_archives(spec: DatasetSpec) -> None:
    assert callable(import_module(spec.reader).open_archive)


def test_streams_and_topics_are_unique_and_well_named(spec: DatasetSpec) -> None:
    for names in ([stream.id for stream in spec.streams], [stream.topic for stream in spec.streams]):
        assert [name for name, count in Counter(names).items() if count > 1] == []
    for stream in spec.streams:
        assert TOPIC.fullmatch(stream.topic), stream.topic
    assert FRAME.fullmatch(spec.namespace)


def test_every_stream_has_known_type_and_encoder(spec: DatasetSpec) -> None:
    encoded = {RAW, CLOUD, *(msgtype for msgtype, entry in MESSAGES.items() if entry.is_written)}
    for stream in spec.streams:
        assert stream.type in typestore().fielddefs, stream.id
        assert stream.type in encoded, stream.id


def test_every_camera_that_stream_names_is_described(spec: DatasetSpec) -> None:
    for stream in spec.streams:
        assert not stream.camera or stream.camera in spec.cameras, stream.id
    for name, camera in spec.cameras.items():
        assert 0 < camera.cx < camera.width and 0 < camera.cy < camera.height, name
        assert (
            len(camera.distortion)
            == {"plumb_bob": 5, "rational_polynomial": 8, "equidistant": 4}[camera.distortion_model]
        ), name


def test_static_frames_have_one_owner_each_and_form_trees(spec: DatasetSpec) -> None:
    parents: dict[str, str] = {}
    for parent, children in spec.tree.items():
        for child in children:
            assert child not in parents, f"{child} has two parents"
            parents[child] = parent
            assert FRAME.fullmatch(child) and FRAME.fullmatch(parent)
    for frame in parents:
        seen = {frame}
        while frame in parents:
            frame = parents[frame]
            assert frame not in seen, f"{frame} is its own ancestor"
            seen.add(frame)


def test_every_published_row_is_rotation_and_every_edge_of_tree_is_supported(spec: DatasetSpec) -> None:
    for row in spec.extrinsics:
        rotation = transform_from_published(row)[:3, :3]
        np.testing.assert_allclose(rotation @ rotation.T, np.eye(3), atol=1e-12)
        assert np.linalg.det(rotation) == pytest.approx(1)
    edges = edges_from_published(spec.extrinsics, spec.tree)
    assert len(edges) == sum(len(children) for children in spec.tree.values())


def test_parameters_are_explained(spec: DatasetSpec) -> None:
    for name, parameter in spec.parameters.items():
        assert len(parameter.help) > 20, name


def test_dataset_has_its_page(spec: DatasetSpec) -> None:
    page = Path(__file__).parents[2] / "docs" / "datasets" / f"{spec.name}.md"
    text = page.read_text()
    for name in spec.parameters:
        assert f"`{name}`" in text, f"{page.name} does not explain {name}"
    for stream in spec.streams:
        assert f"`{stream.topic}" in text, f"{page.name} does not name {stream.topic}"
    for heading in ("## Use it", "## Files and topics", "### Sample", "## Frames"):
        assert f"\n{heading}" in text, f"{page.name} has no section {heading}"
    assert "has and fieldplay does not\n" in text
    assert f"](../images/{spec.name}.webp)" in text


def test_every_table_layout_starts_with_known_columns(spec: DatasetSpec) -> None:
    for key, table in spec.tables.items():
        lengths = [len(layout) for layout in table.layouts]
        assert len(set(lengths)) == len(lengths), f"{key}: two layouts of one length cannot be told apart"
        for layout in table.layouts:
            assert layout.count("time") == 1, key
            assert len(set(layout)) == len(layout), key
        for column, patterns in table.header.items():
            assert any(column in layout for layout in table.layouts), f"{key}: no layout has {column}"
            for pattern in patterns:
                re.compile(pattern)


@pytest.mark.parametrize("name", ["euroc", "kitti"])
def test_dataset_of_the_ordinary_level_is_small(name: str) -> None:
    """What docs/adding-a-dataset.md promises: at most five files, 500 lines of reader and YAML."""
    modules = list(Path(import_module(f"fieldplay.datasets.{name}").__file__ or "").parent.glob("*.py"))
    description = Path(__file__).parents[2] / "config" / "datasets" / f"{name}.yaml"
    assert len(modules) + 1 <= 5
    assert sum(len(path.read_text("utf-8").splitlines()) for path in [*modules, description]) <= 500
