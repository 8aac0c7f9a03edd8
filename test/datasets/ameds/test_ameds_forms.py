"""Archives in another dress, which play whole; zips with faults of their own; and what cannot be played at all."""

import json
import shutil
import struct
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np
import pytest

from fieldplay.cli.main import main
from support.broken import (
    Spoil,
    content,
    counts_of,
    zip_of,
)

START = 1656931512
IMU, POSES, WHEELS = "GnssImu.csv", "GnssPose.csv", "PlatformMotorEncoders.csv"
PICTURE, CLOUD = f"MainCam_{START}.033333.jpg", f"LidarPointcloud_{START}.2.pcd"
TITLES = "Time [s],acc_x,acc_y,acc_z,gyro_x,gyro_y,gyro_z,mag_x,mag_y,mag_z,imu_temperature,pressure,air_temperature"


@pytest.fixture
def folder(few_images: Path, tmp_path: Path) -> Path:
    """A copy of it, to be changed."""
    return Path(shutil.copytree(few_images, tmp_path / "AMEDS", copy_function=shutil.copyfile))


@pytest.fixture(scope="module")
def counts(few_images: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, int]:
    """Messages by topic of the unchanged archive."""
    bag = tmp_path_factory.mktemp("bags") / "bag"
    assert main(["convert", str(few_images), str(bag), "--strict"]) == 0
    return counts_of(bag)


def text(name: str, change: Callable[[str], str]) -> Spoil:
    return content(name, lambda data: change(data.decode()).encode())


def reordered(rows: str) -> str:
    """The columns from the last to the first, under their titles."""
    return "".join(",".join(reversed(row.split(","))) + "\n" for row in [TITLES, *rows.splitlines()])


def png(_: bytes) -> bytes:
    return bytes(cv2.imencode(".png", np.zeros((1080, 1920, 3), np.uint8))[1].tobytes())


def cloud(data: bytes, fields: str, kind: str, points: int) -> Spoil:
    count = len(fields.split())
    head = f"FIELDS {fields}\nSIZE{' 4' * count}\nTYPE{' F' * count}\nWIDTH {points}\nHEIGHT 1\nPOINTS {points}\n"
    return lambda root: (root / CLOUD).write_bytes(f"{head}DATA {kind}\n".encode() + data)


def compressed(plain: bytes) -> bytes:
    """LZF without any saving: runs of up to 32 bytes as they are."""
    parts = [plain[i : i + 32] for i in range(0, len(plain), 32)]
    data = b"".join(bytes([len(part) - 1]) + part for part in parts)
    return struct.pack("<II", len(data), len(plain)) + data


def underscored(root: Path) -> None:
    for path in root.glob("*Cam_*.jpg"):
        path.rename(path.with_name(path.stem.replace(".", "_") + ".JPG"))


POINTS = np.array([[1, 2, 3, 4], [5, 6, 7, 8]], np.float32)
DRESSES: dict[str, Spoil] = {
    "byte order mark": content(IMU, lambda data: b"\xef\xbb\xbf" + data),
    "crlf": content(IMU, lambda data: data.replace(b"\n", b"\r\n")),
    "carriage returns only": content(IMU, lambda data: data.replace(b"\n", b"\r")),
    "semicolons": text(IMU, lambda rows: rows.replace(",", ";")),
    "tabs": text(IMU, lambda rows: rows.replace(",", "\t")),
    "decimal commas": text(IMU, lambda rows: rows.replace(",", ";").replace(".", ",")),
    "quotes": text(IMU, lambda rows: "".join(f'"{row}"\n' for row in rows.replace(",", '","').splitlines())),
    "spaces": text(IMU, lambda rows: rows.replace(",", " , ")),
    "blank lines": text(IMU, lambda rows: rows.replace("\n", "\n\n")),
    "no end of the last line": text(IMU, lambda rows: rows.rstrip("\n")),
    "comments": text(IMU, lambda rows: "# recorded on Etna\n% twice\n" + rows),
    "header": text(IMU, lambda rows: TITLES + "\n" + rows),
    "header in unknown words": text(IMU, lambda rows: ",".join(f"column {i}" for i in range(13)) + "\n" + rows),
    "header in another order": text(IMU, reordered),
    "header above a line of units": text(IMU, lambda rows: TITLES + "\n[s]" + ",[SI]" * 12 + "\n" + rows),
    "header in latin-1": content(IMU, lambda data: "Zeit,Lufttemperatur [°C]\n".encode("latin-1") + data),
    "a png named jpg": content(PICTURE, png),
    "more behind a picture": content(PICTURE, lambda data: data + b"\0" * 40),
    "times after underscores": underscored,
    "cloud in ascii": cloud(b"1 2 3 4\n5 6 7 8\n", "x y z intensity", "ascii", 2),
    "cloud compressed": cloud(compressed(POINTS.T.tobytes()), "x y z intensity", "binary_compressed", 2),
    "cloud without intensity": cloud(POINTS[:, :3].tobytes(), "x y z", "binary", 2),
    "cloud of nothing but nan": cloud(np.full((2, 3), np.nan, np.float32).tobytes(), "x y z", "binary", 2),
    "cloud without points": cloud(b"", "x y z", "binary", 0),
    "a folder named like a picture": lambda root: (root / f"MainCam_{START}.9.jpg").mkdir(),
    "files of other names": lambda root: (root / "readme.txt").write_text("hello"),
}


@pytest.mark.parametrize("name", DRESSES)
def test_another_dress_plays_whole_and_has_no_defect(
    name: str, folder: Path, counts: dict[str, int], capsys: pytest.CaptureFixture[str]
) -> None:
    DRESSES[name](folder / "Traverse_5")
    bag = folder.parent / "bag"
    assert main(["check", str(folder)]) == 0, capsys.readouterr().out
    assert main(["convert", str(folder), str(bag), "--strict"]) == 0
    assert counts_of(bag) == counts


def test_header_decides_what_is_which_and_info_reports_it(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    DRESSES["header in another order"](folder / "Traverse_5")
    (folder / "notes.txt").write_text("hello")
    assert main(["info", "--verbose", str(folder)]) == 0
    out = capsys.readouterr().out
    assert "note: columns by header: Traverse_5/GnssImu.csv\n" in out
    assert "note: columns by position: Traverse_5/GnssPose.csv, " in out
    assert "the accelerometer shows -9.81 along its z axis" in out
    assert "note: files of other names, which are not read: 1 (notes.txt)" in out


def test_two_traverses_in_one_archive_play_one_after_other(
    folder: Path, counts: dict[str, int], capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(folder / "Traverse_5", second := folder / "Traverse_6")
    for path in sorted(second.iterdir()):  # an hour later
        data = path.read_bytes()
        path.unlink()
        later = data.replace(b"16569315", b"16569351") if path.suffix == ".csv" else data
        path.with_name(path.name.replace("16569315", "16569351")).write_bytes(later)
    DRESSES["header in another order"](second)
    assert main(["check", str(folder)]) == 0, capsys.readouterr().out
    assert main(["convert", str(folder), str(folder.parent / "bag"), "--strict"]) == 0
    twice = {topic: count * 2 for topic, count in counts.items()} | {"/tf_static": 1}
    assert counts_of(folder.parent / "bag") == twice


def with_other_bytes(path: Path, folder: int, new: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(folder)
        file.write(new)


def begin_of(path: Path, name: str) -> tuple[int, int]:
    """Where a member's own header and where its data begin."""
    with zipfile.ZipFile(path) as archive:
        member = archive.getinfo(f"Traverse_5/{name}")
        return member.header_offset, member.header_offset + 30 + len(member.filename)


def encrypted(path: Path, name: str) -> None:
    """Set the flag of encryption of a member, in its own header and in the list at the end."""
    data = path.read_bytes()
    in_list = data.rindex(f"Traverse_5/{name}".encode()) - 46
    with_other_bytes(path, begin_of(path, name)[0] + 6, b"\1")
    with_other_bytes(path, in_list + 8, b"\1")


def added(path: Path, name: str, data: bytes) -> None:
    with warnings.catch_warnings(), zipfile.ZipFile(path, "a") as archive:
        warnings.simplefilter("ignore")  # of a name that is there already
        archive.writestr(name, data)


def all_but_a_row(path: Path) -> bytes:
    with zipfile.ZipFile(path) as archive:
        return b"".join(archive.read(f"Traverse_5/{IMU}").splitlines(keepends=True)[:-1])


IMU_TOPICS = ("imu/data_raw", "imu/data", "imu/mag", "imu/temperature", "air/pressure", "air/temperature")
CAMERA_TOPICS = ("main_cam/camera_info", "main_cam/image_raw/compressed")
# What is done to the zip; file, kind and message of the defect; the topics that lose messages, and how many of each
ZIP_FAULTS: dict[str, tuple[Spoil, tuple[str, str, str], tuple[str, ...], int]] = {
    "a path that leads out": (
        lambda path: added(path, "../GnssImu.csv", b"evil"), ("AMEDS.zip", "unsafe_path", "leaves the archive"), (), 0
    ),
    "a member twice": (
        lambda path: added(path, f"Traverse_5/{IMU}", all_but_a_row(path)),
        (f"Traverse_5/{IMU}", "duplicate_member", "2 members of this name"), IMU_TOPICS, 1,
    ),
    "a picture with another check sum": (
        lambda path: with_other_bytes(path, begin_of(path, PICTURE)[1] + 5000, b"oops"),
        (f"Traverse_5/{PICTURE}", "damaged_picture", "cannot be read from the zip: Bad CRC-32"), CAMERA_TOPICS, 1,
    ),
    "a table with another check sum": (
        lambda path: with_other_bytes(path, begin_of(path, IMU)[1] + 22, b"7"),
        (f"Traverse_5/{IMU}", "damaged_file", "its check sum is another"), (), 0,
    ),
    "a picture without its own header": (
        lambda path: with_other_bytes(path, begin_of(path, PICTURE)[0], b"XX"),
        (f"Traverse_5/{PICTURE}", "damaged_picture", "cannot be read from the zip: Bad magic"), CAMERA_TOPICS, 1,
    ),
    "a table without its own header": (
        lambda path: with_other_bytes(path, begin_of(path, IMU)[0], b"XX"),
        (f"Traverse_5/{IMU}", "unreadable_table", "the zip has no member at its place"), IMU_TOPICS, 200,
    ),
    "an encrypted picture": (
        lambda path: encrypted(path, PICTURE),
        (f"Traverse_5/{PICTURE}", "damaged_picture", "is encrypted"), CAMERA_TOPICS, 1,
    ),
    "an encrypted table": (
        lambda path: encrypted(path, IMU),
        (f"Traverse_5/{IMU}", "unreadable_table", "is encrypted"), IMU_TOPICS, 200,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ZIP_FAULTS)
def test_defect_of_zip_is_reported_once_and_all_else_plays(
    name: str, folder: Path, counts: dict[str, int], capsys: pytest.CaptureFixture[str]
) -> None:
    change, (file, kind, message), topics, lost = ZIP_FAULTS[name]
    change(archive := zip_of(folder))
    before, bag = archive.read_bytes(), folder.parent / "bag"
    assert main(["check", "--json", str(archive)]) == 1
    (defect,) = json.loads(capsys.readouterr().out)["defects"]
    assert (defect["file"], defect["row"], defect["kind"]) == (file, None, kind)
    assert message in defect["message"]
    assert main(["convert", str(archive), str(bag)]) == 0
    assert f"  {file}: " in capsys.readouterr().err
    losing = {f"/ameds/{topic}" for topic in topics}
    left = {topic: count - lost if topic in losing else count for topic, count in counts.items()}
    assert counts_of(bag) == {topic: count for topic, count in left.items() if count}
    shutil.rmtree(bag)
    assert main(["convert", "--strict", str(archive), str(bag)]) == 1
    assert sorted(path.name for path in folder.parent.iterdir()) == ["AMEDS", "AMEDS.zip"]
    assert archive.read_bytes() == before


def test_zip_with_backslashes_between_its_folders_plays_whole(folder: Path, counts: dict[str, int]) -> None:
    archive = zip_of(folder, lambda name: name.replace("/", "\\"))
    assert main(["convert", "--strict", str(archive), str(folder.parent / "bag")]) == 0
    assert counts_of(folder.parent / "bag") == counts


def test_deflated_table_that_breaks_off_gives_rows_before_break(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    draw = np.random.default_rng(3)
    rows = "".join(
        f"{START + k / 100:.2f},{','.join(map(repr, draw.normal(size=12).tolist()))}\n" for k in range(20_000)
    )
    archive = folder.with_suffix(".zip")
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as members:
        members.writestr(f"Traverse_5/{IMU}", rows)
    with_other_bytes(archive, archive.stat().st_size // 2, b"\xff" * 2000)
    assert main(["check", str(archive)]) == 1
    output = [line for line in capsys.readouterr().out.splitlines() if line.startswith("damaged_file")]
    assert len(output) == 1
    assert "the rows before it are read" in output[0]
    assert main(["convert", str(archive), str(folder.parent / "bag")]) == 0
    assert 9_000 < counts_of(folder.parent / "bag")["/ameds/imu/data_raw"] < 11_000


def cut_zip(folder: Path) -> Path:
    archive = zip_of(folder)
    archive.write_bytes(archive.read_bytes()[: archive.stat().st_size // 2])
    return archive


def made(folder: Path, files: dict[str, bytes]) -> Path:
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    return folder


def zip_in_folder(folder: Path) -> Path:
    archive = zip_of(folder)
    shutil.rmtree(folder)
    folder.mkdir()
    archive.rename(folder / "AMEDS.zip")
    return folder


def packed_as(ending: str) -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        path = folder.with_name(f"AMEDS{ending}")
        path.write_bytes(b"none of it is read")
        return path

    return write


UNPLAYABLE: dict[str, tuple[Callable[[Path], Path], str]] = {
    "a cut zip": (cut_zip, "the zip is cut off or damaged"),
    "a text that is called a tar": (packed_as(".tar.gz"), "it is called a tar and is none, it starts with b'none of "),
    "a part of no tar": (packed_as(".tar.gz.00"), "it is called a tar and is none, it starts with b'none of "),
    "a text that is called a zip": (packed_as(".zip"), "it is called a zip and is none, it starts with b'none of "),
    "a zip within a zip": (lambda folder: zip_of(zip_in_folder(folder)), "a zip in a zip is not read in place"),
    "an empty folder": (lambda folder: (shutil.rmtree(folder), folder.mkdir(), folder)[2], "is empty"),
    "a folder of other things": (lambda folder: made(folder.parent / "other", {"a/b.txt": b"x"}), "no dataset that"),
    "a file of other things": (lambda folder: made(folder.parent / "other", {"b.txt": b"x"}) / "b.txt", "no dataset"),
    "one table that cannot be read": (
        lambda folder: made(folder.parent / "one", {IMU: b"time,x\n"}), "GnssImu.csv: expected rows of numbers"
    ),
    "pictures without times": (
        lambda folder: made(folder.parent / "one", {"MainCam_a.jpg": b""}), "MainCam_a.jpg: expected a time in the name"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", UNPLAYABLE)
def test_what_cannot_be_played_is_reported_with_reason(
    name: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make, message = UNPLAYABLE[name]
    archive, out = make(folder), folder.parent / "out"
    for arguments, code in ((["info"], 1), (["check"], 2), (["convert", str(out)], 1)):
        assert main([arguments[0], str(archive), *arguments[1:]]) == code
        captured = capsys.readouterr()
        assert message in captured.out + captured.err
    assert main(["check", "--json", str(archive)]) == 2
    result = json.loads(capsys.readouterr().out)
    assert result["playable"] is False
    assert any(message in f"{defect['file']}: {defect['message']}" for defect in result["defects"])
    assert not out.exists()
