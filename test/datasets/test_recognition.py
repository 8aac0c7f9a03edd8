"""Which dataset an archive is of: each is recognised as itself, and folders of others as none."""

import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from fieldplay.core.errors import ArchiveError
from fieldplay.datasets.registry import detect_spec
from fieldplay_testing.tiny_ameds import TinyAmeds
from support import tiny_euroc, tiny_kitti
from support.tiny_acfr import TinyAcfr
from support.tiny_ida import TinyIda
from support.tiny_rosario import TinyRosario

Write = Callable[[Path], Path]


def euroc(root: Path) -> Path:
    return tiny_euroc.TinyEuroc(root).write_all().root


def tum_vi(root: Path) -> Path:
    tiny_euroc.write_tum_vi(root)
    return root


def drive(kind: str) -> Write:
    return lambda root: tiny_kitti.TinyDrive(root / tiny_kitti.DATE, kind).write_all().root


def written(kind: Callable[[Path], TinyAmeds | TinyAcfr | TinyIda | TinyRosario]) -> Write:
    def write(root: Path) -> Path:
        kind(root).write_all()
        return root

    return write


ARCHIVES: dict[str, tuple[str, Write]] = {
    "ameds": ("ameds", written(TinyAmeds)),
    "rosario": ("rosario", written(TinyRosario)),
    "acfr": ("acfr", written(TinyAcfr)),
    "ida": ("ida", written(TinyIda)),
    "euroc": ("euroc", euroc),
    "tum_vi": ("euroc", tum_vi),
    "kitti_sync": ("kitti", drive("sync")),
    "kitti_extract": ("kitti", drive("extract")),
    "kitti_sequence": ("kitti", lambda root: tiny_kitti.write_sequence(root)),
}


@pytest.mark.parametrize("form", ["folder", "zip"])
@pytest.mark.parametrize(("name", "write"), ARCHIVES.values(), ids=ARCHIVES)
def test_archive_is_recognised_as_its_own_dataset(name: str, write: Write, form: str, tmp_path: Path) -> None:
    root = write(tmp_path / "archive")
    if form == "zip":
        with zipfile.ZipFile(tmp_path / "archive.zip", "w") as packed:
            for file in sorted(root.rglob("*")):
                if file.is_file():
                    packed.write(file, f"{root.name}/{file.relative_to(root)}")
        root = tmp_path / "archive.zip"
    assert detect_spec(root).name == name


@pytest.mark.parametrize(
    "names",
    [
        ["data.csv", "sensor.yaml"],
        ["results/data.csv", "results/cam0.png"],
        ["cam0/images/1403715273262142976.png"],
        ["timestamps.txt", "0000000000.png", "0000000001.png"],
        ["training/image_2/000000.png", "training/velodyne/000000.bin", "training/calib/000000.txt"],  # KITTI's objects
        ["calib.txt", "000000.png"],
        ["times.txt", "imu.txt"],
        ["poses/00.txt"],
        ["oxts/0000000000.txt"],
    ],
)
def test_folder_of_similar_names_is_no_dataset(names: list[str], tmp_path: Path) -> None:
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"1 2 3\n")
    with pytest.raises(ArchiveError, match="no dataset that fieldplay knows"):
        detect_spec(tmp_path)


@pytest.mark.parametrize("name", ["imu0/data.csv", "mav0/cam0/sensor.yaml", "deep/er/mav0/cam1/data.csv"])
def test_one_sensor_in_asl_layout_is_enough_for_euroc(name: str, tmp_path: Path) -> None:
    (tmp_path / name).parent.mkdir(parents=True)
    (tmp_path / name).write_bytes(b"damaged")
    assert detect_spec(tmp_path).name == "euroc"


@pytest.mark.parametrize(
    "name", ["oxts/data/0000000000.txt", "image_02/timestamps.txt", "2011/drive/velodyne_points/data/0000000007.bin"]
)
def test_one_sensor_is_enough_for_a_drive(name: str, tmp_path: Path) -> None:
    (tmp_path / name).parent.mkdir(parents=True)
    (tmp_path / name).write_bytes(b"damaged")
    assert detect_spec(tmp_path).name == "kitti"
