"""`fieldplay fuse --products` and `fieldplay products` on the clouds of a wall."""

import json
from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np
import pytest
import tifffile

from fieldplay.cli.main import main
from fieldplay.io.pcd import cloud_from_pcd
from fieldplay_cdff.io.outputs import OutTopics
from fieldplay_cdff.offline.product_files import product_files
from fieldplay_cdff.products.product import TypedMessage
from fieldplay_cdff.steps.values import ElevationGrid, Frame
from support.stereo_bags import (
    CHAIN,
    SETTINGS,
    STAMPS_NS,
    WALL_M,
    pair,
    write_bag,
)

KEPT = CHAIN.replace("doc: cloud}", "doc: cloud, product: cloud}")
KEPT_WITH_POSE = (
    KEPT.replace(
        "doc: cloud, product: cloud}", "doc: cloud, product: cloud},\n  {name: pose, type: asn1SccPose, doc: pose}"
    )
    .replace("HirschmullerDisparityMapping}]", "HirschmullerDisparityMapping}, {dfn_id: track, name: PoseTrack}]")
    .replace(
        "dfn_id: stereo, port: left}",
        "dfn_id: stereo, port: left}\n      - {dfpc_input: leftImage, dfn_id: track, port: trigger}",
    )
    .replace(
        "    output_connections: [",
        "    internal_connections:\n      - {from: {dfn_id: stereo, port: pointcloud},"
        " to: {dfn_id: track, port: basis}}\n    output_connections: [{dfpc_output: pose, dfn_id: track, port: pose}, ",
    )
)
Call = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The store of a run over four pairs."""
    folder = tmp_path_factory.mktemp("products")
    fused(folder, KEPT, "store")
    return folder / "store"


def fused(folder: Path, chain: str, name: str) -> None:
    (folder / f"{name}.yaml").write_text(chain)
    if not (folder / "bag").exists():
        write_bag(folder / "bag", [pair(row) for row in range(4)])
    arguments = [word for setting in SETTINGS for word in ("--set", setting)]
    arguments += ["--products", str(folder / name), "--overwrite"]
    assert main(["fuse", str(folder / "bag"), str(folder / f"{name}.yaml"), str(folder / "out"), *arguments]) == 0


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str]) -> Call:
    def run(*arguments: object) -> tuple[int, str, str]:
        try:
            code = main(["products", *map(str, arguments)])
        except SystemExit as end:
            code = int(str(end.code))
        output = capsys.readouterr()
        return code, output.out, " ".join(output.err.split())

    return run


def test_each_cloud_is_kept_with_where_it_comes_from_and_how_far_it_goes(store: Path, call: Call) -> None:
    code, output, _ = call("list", store, "--json")
    products = json.loads(output)
    assert code == 0 and [product["stamp_ns"] for product in products] == STAMPS_NS
    last = products[-1]
    assert (last["kind"], last["frame"], last["stored_ns"]) == ("cloud", "wall/scene", STAMPS_NS[-1])
    assert last["messages"] == [{"topic": "/wall/cloud", "type": "sensor_msgs/msg/PointCloud2"}]
    assert (last["producer"]["dfpc"], last["producer"]["implementation"]) == ("Wall", "Plain")
    span = {"topic": "/cam/left/image_raw", "first_ns": STAMPS_NS[-1], "last_ns": STAMPS_NS[-1]}
    assert last["inputs"]["leftImage"] == span
    assert last["extent"]["least"][2] == pytest.approx(WALL_M, rel=0.02) and last["extent"]["least"][0] < 0
    assert last["pose"] is None and last["quality"] is None, "which this chain does not tell"


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--time", "1600000000.25", "1600000000.5"], [2, 3]),
        (["--newest", 1], [4]),
        (["--near", 0, 0, WALL_M + 0.5, 0.6, "--newest", 2], [3, 4]),
        (["--near", 0, 0, WALL_M + 0.5, 0.4], []),
        (["--box", -1, -1, 0, 1, 1, 2, "--id", 2, 4], [2, 4]),
        (["--kind", "map"], []),
    ],
)
def test_products_are_listed_by_time_location_and_number(
    store: Path, call: Call, arguments: list[object], expected: list[int]
) -> None:
    code, output, paired = call("list", store, "--json", *arguments)
    assert code == 0 and [product["id"] for product in json.loads(output)] == expected
    assert ("no product is like this; it has 4 of kind cloud" in paired) is not expected


def test_cloud_becomes_file_and_is_shown_whole(store: Path, call: Call, tmp_path: Path) -> None:
    code, output, _ = call("get", store, "--newest", 1, "--to", tmp_path)
    assert (code, output) == (0, f"{tmp_path / '4_cloud.ply'}\n")
    assert (tmp_path / "4_cloud.ply").read_bytes().startswith(b"ply\nformat binary_little_endian 1.0\nelement vertex ")
    assert call("get", store, "--newest", 1, "--to", tmp_path)[0] == 2
    code, output, _ = call("get", store, "--newest", 1, "--to", tmp_path, "--raw", "--json")
    assert json.loads(output) == [{"id": 4, "file": str(tmp_path / "4_cloud.cdr")}]
    shown = json.loads(call("show", store, "--id", 4)[1])
    assert (tmp_path / "4_cloud.cdr").stat().st_size == shown["size"]
    line = call("list", store, "--id", 4)[1]
    assert line.split()[:5] == ["4", "1600000000.750000000", "cloud", str(shown["size"]), "bytes"]


def test_same_input_gives_same_bag_of_products(store: Path) -> None:
    fused(store.parent, KEPT, "again")
    part = Path("part_000001", "part_000001_0.mcap")
    assert (store.parent / "again" / part).read_bytes() == (store / part).read_bytes()


def test_period_keeps_fewer_and_last(tmp_path: Path, call: Call) -> None:
    fused(tmp_path, CHAIN.replace("doc: cloud}", "doc: cloud, product: {kind: wall, period: 0.5}}"), "store")
    result = call("list", tmp_path / "store", "--json")[1]
    products = json.loads(result[result.index("[") :])
    assert [product["stamp_ns"] for product in products] == [STAMPS_NS[row] for row in (0, 2, 3)]
    assert products[1]["inputs"]["rightImage"]["first_ns"] == STAMPS_NS[1]
    code, _, result = call("delete", tmp_path / "store", "--newest", 1)
    assert code == 0 and "1 product deleted, 2 left" in result


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["delete"], 2, "expected which products"),
        (["get", "--id", 9], 1, "no product is like this; it has 4 of kind cloud"),
        (["list", "--time", "soon", "1"], 2, "expected seconds as a decimal number, got 'soon'"),
        (["list", "--time", 2, 1], 2, "starts before it ends"),
        (["list", "--near", 0, 0, 0, -1], 2, "expected a radius from 0"),
    ],
)
def test_usage_error_is_reported(store: Path, call: Call, arguments: list[object], code: int, message: str) -> None:
    result = call(arguments[0], store, *arguments[1:])
    assert result[0] == code and message in result[2]


def test_no_store_is_reported(tmp_path: Path, call: Call) -> None:
    assert call("list", tmp_path)[::2] == (1, f"fieldplay: {tmp_path}: expected a store of products, with "
                                              "index.sqlite and part_000001, got neither")  # fmt: skip


@pytest.mark.parametrize(
    ("mark", "message"),
    [
        ("product: Cloud!", "pointCloud: expected the kind of a product as a word such as cloud, got 'Cloud!'"),
        (
            "product: {kind: cloud, period: often}",
            "pointCloud: expected the period of a product in seconds, got 'often'",
        ),
        ("product: {period: 2.0}", "a product has no kind, which it must have"),
    ],
)
def test_mark_impossible_is_reported_with_its_line(
    tmp_path: Path, mark: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "wall.yaml").write_text(CHAIN.replace("doc: cloud}", f"doc: cloud, {mark}}}"))
    bag = write_bag(tmp_path / "bag", [pair(0)])
    with pytest.raises(SystemExit, match="2"):
        main(["fuse", str(bag), str(tmp_path / "wall.yaml"), str(tmp_path / "out"), "--products", str(tmp_path / "s")])
    assert f"wall.yaml:5: {message}" in capsys.readouterr().err


def test_chain_without_mark_has_nothing_to_keep(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "wall.yaml").write_text(CHAIN)
    bag = write_bag(tmp_path / "bag", [pair(0)])
    assert main(
        ["fuse", str(bag), str(tmp_path / "wall.yaml"), str(tmp_path / "out"), "--products", str(tmp_path / "s")]
    )
    assert "Wall marks no output as a product" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_maps_and_images_become_files_that_others_open(tmp_path: Path) -> None:
    heights = np.array([[1.0, 2.0], [np.nan, 4.0]])
    grid = ElevationGrid(
        x_m=-1.0, y_m=2.0, resolution_m=0.5, mean=heights, deviation=heights, lowest=heights, highest=heights,
        count=np.isfinite(heights).astype(np.int64),
    )  # fmt: skip
    ((name, data),) = files_of("Map", grid).items()
    (tmp_path / f"map{name}").write_bytes(data)
    with tifffile.TiffFile(tmp_path / "map.tif") as file:
        page = file.pages.first
        np.testing.assert_array_equal(page.asarray(), heights[::-1])
        assert page.tags[33922].value == (0.0, 0.0, 0.0, -1.0, 3.0, 0.0)
    shades = np.arange(12, dtype=np.uint8).reshape(3, 4)
    ((name, data),) = files_of("Frame", Frame(image=shades, encoding="mono8")).items()
    assert name == ".png"
    np.testing.assert_array_equal(cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_GRAYSCALE), shades)
    depths = np.array([[1.5, np.nan]], np.float32)
    ((name, data),) = files_of("Frame", Frame(image=depths, encoding="32FC1")).items()
    (tmp_path / f"depth{name}").write_bytes(data)
    np.testing.assert_array_equal(tifffile.imread(tmp_path / "depth.tif"), depths)


def files_of(kind: str, value: object) -> dict[str, bytes]:
    """The files of a value as it is kept."""
    topics = OutTopics(ports={"value": kind}, prefix="/chain", scene="scene", tf=False)
    types = topics.topics()
    out = topics.messages("value", value, STAMPS_NS[0], "camera")
    return product_files([TypedMessage(each.topic, types[each.topic], each.data) for each in out])


def test_formats_are_written_on_request(store: Path, call: Call, tmp_path: Path) -> None:
    code, out, _ = call("get", store, "--id", 1, "--to", tmp_path, "--format", "pcd")
    assert code == 0 and out.split() == [str(tmp_path / "1_cloud.pcd")]
    from_pcd = cloud_from_pcd((tmp_path / "1_cloud.pcd").read_bytes())
    call("get", store, "--id", 1, "--to", tmp_path)
    head, _, body = (tmp_path / "1_cloud.ply").read_bytes().partition(b"end_header\n")
    rows = np.frombuffer(body, "<f4").reshape(len(from_pcd), -1)
    assert b"element vertex" in head
    np.testing.assert_array_equal(np.stack([from_pcd[axis] for axis in "xyz"], axis=1), rows[:, :3])
    code, _, error = call("get", store, "--id", 1, "--to", tmp_path, "--format", "tif")
    assert code == 2 and "PointCloud2 cannot be written as tif: expected one of ply, pcd, cdr" in error


def test_products_of_a_bag_with_odometry_in_map_are_found_there(tmp_path: Path, call: Call) -> None:
    stands = np.array([20.0, 30.0, 1.0])
    write_bag(tmp_path / "bag", [pair(row) for row in range(4)], odometry=stands)
    (tmp_path / "chain.yaml").write_text(KEPT_WITH_POSE)
    settings = [word for setting in SETTINGS for word in ("--set", setting)]
    for name, more in (("store", ["--world", "yard"]), ("loose", ["--products-by", "none"])):
        arguments = [*settings, "--products", str(tmp_path / name), *more, "--overwrite"]
        fuse = ["fuse", str(tmp_path / "bag"), str(tmp_path / "chain.yaml"), str(tmp_path / "out"), *arguments]
        assert main(fuse) == 0
    code, out, _ = call("list", tmp_path / "store", "--near", 20, 30, 1, WALL_M + 2, "--frame", "map", "--json")
    (product, *_) = json.loads(out[out.index("[{") :])
    assert code == 0 and product["world"] == "yard"
    assert (product["chain"][0]["parent"], product["frame"]) == ("map", product["chain"][0]["child"])
    np.testing.assert_allclose(product["chain"][0]["position"], stands, atol=1e-6)
    assert json.loads(call("list", tmp_path / "store", "--near", 0, 0, 0, 5, "--frame", "map", "--json")[1]) == []
    records = json.loads(call("list", tmp_path / "loose", "--json")[1])
    assert records[0]["chain"] == [] and records[0]["world"].endswith(f"from {STAMPS_NS[0] / 1e9:.3f} s")
