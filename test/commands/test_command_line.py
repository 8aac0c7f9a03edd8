"""The command `fieldplay` as a user meets it: exit codes, what is printed, and what is left on the disk."""

import io
import json
import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from fieldplay.cli.main import commands, main, make_parser
from fieldplay.cli.terminal import ProgressBar

START_NS = 1656931512 * 10**9

Call = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def archive(write_ameds: Callable[[Path], Any], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An archive that no test changes."""
    root: Path = write_ameds(tmp_path_factory.mktemp("archive") / "Traverse_5").root
    return root


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str]) -> Call:
    """Runs the command line in this process: the exit code, what is printed, and what is told beside it."""

    def run(*arguments: object) -> tuple[int, str, str]:
        try:
            code = main([str(argument) for argument in arguments])
        except SystemExit as end:
            code = int(end.code or 0)
        return code, *capsys.readouterr()

    return run


def information(bag: Path) -> dict[str, Any]:
    text: dict[str, Any] = yaml.safe_load((bag / "metadata.yaml").read_text())["rosbag2_bagfile_information"]
    return text


def topics(bag: Path) -> dict[str, int]:
    listed = information(bag)["topics_with_message_count"]
    return {entry["topic_metadata"]["name"]: entry["message_count"] for entry in listed}


def digest(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_list_has_one_line_for_each_dataset(call: Call) -> None:
    code, out, err = call("list")
    assert (code, err) == (0, "")
    assert "\nameds       ARCHES Mount Etna dataset (AMEDS), ESA's rover Interact [files" in out
    assert out.count("\n") - 1 == out.count("at hand") == 7
    assert "\nfuse        pipelines of fusion on any of them, or on a bag: ElevationMapping, HapticScanning, " in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["sing"], "invalid choice: 'sing'"),
        (["info"], "required: ARCHIVE"),
        (["info", "/no/such/place"], "/no/such/place: there is no such folder or file"),
        (["check", "/no/such/place"], "there is no such folder or file"),
        (["convert", "/no/such/place", "OUT"], "there is no such folder or file"),
        (["info", "x" * 5000], "there is no such folder or file"),
        (["info", "ARCHIVE", "--dataset", "mars"], "invalid choice: 'mars'"),
        (["info", "ARCHIVE", "--set", "gyro_unit"], "--set: expected NAME=VALUE, got 'gyro_unit'"),
        (
            ["info", "ARCHIVE", "--set", "giro_unit=deg/s"],
            "ameds has no parameter 'giro_unit': did you mean 'gyro_unit'?",
        ),
        (["check", "ARCHIVE", "--set", "gyro_unit=rpm"], "gyro_unit: expected one of ['deg/s', 'rad/s'], got 'rpm'"),
        (["check", "ARCHIVE", "--json", "--set", "gyro_unit=rpm"], "gyro_unit: expected one of"),
        (["check", "ARCHIVE", "--set", "accelerometer_sign=true"], "expected one of [1, -1], got True"),
        (["info", "ARCHIVE", "--set", "attitude_std_deg=much"], "expected a value such as 0.05, got 'much'"),
        (["info", "ARCHIVE", "--set", "attitude_std_deg=.nan"], "expected a value such as 0.05, got nan"),
        (["info", "ARCHIVE", "--set", "gyro_unit=["], "--set gyro_unit: expected a number or a word, got '['"),
        (["convert", "ARCHIVE", "OUT", "--topics", "imu("], "expected a regular expression, got 'imu('"),
        (["convert", "ARCHIVE", "OUT", "--start", "-1"], "expected seconds, from 0 to 1e+09, got '-1'"),
        (["convert", "ARCHIVE", "OUT", "--start", "nan"], "expected seconds, from 0 to 1e+09, got 'nan'"),
        (["convert", "ARCHIVE", "OUT", "--duration", "1e300"], "expected seconds, from 0 to 1e+09, got '1e300'"),
        (["convert", "ARCHIVE", "OUT", "--duration", "long"], "expected seconds, from 0 to 1e+09, got 'long'"),
        (["convert", "ARCHIVE", "OUT", "--images", "gif"], "invalid choice: 'gif'"),
        (["convert", "ARCHIVE", "OUT", "--namespace", "my rover"], "expected names of letters, digits and _"),
        (["convert", "ARCHIVE", "OUT", "--storage", "sqlite3", "--compression", "zstd"], "is for --storage mcap"),
        (["convert", "ARCHIVE", "OUT", "--colour"], "unrecognized arguments: --colour"),
        (["convert", "ARCHIVE", "OUT", "--over"], "unrecognized arguments: --over"),
        (["convert", "ARCHIVE"], "required: OUT"),
    ],
)
def test_usage_error_exits_with_2_and_reports_what_is_wrong(
    arguments: Sequence[str], message: str, archive: Path, tmp_path: Path, call: Call
) -> None:
    positions = {"ARCHIVE": str(archive), "OUT": str(tmp_path / "out")}
    code, out, err = call(*(positions.get(argument, argument) for argument in arguments))
    assert (code, out) == (2, "")
    assert message in err and err.count("\n") == 1
    command = next((word for word in arguments if word in commands()), "")
    assert err.endswith(f"(see '{' '.join(['fieldplay', *filter(None, [command])])} --help')\n")
    assert not (tmp_path / "out").exists()


def test_without_command_help_is_shown(call: Call) -> None:
    code, out, err = call()
    assert (code, err) == (0, "") and "list the datasets" in out
    code, out, _ = call("--version")
    assert code == 0 and re.fullmatch(r"fieldplay \d+\.\d+\.\d+\n", out)


def test_options_stand_where_one_likes() -> None:
    parser = make_parser("fuse")
    args = parser.parse_args(["fuse", "archive", "Chain", "--implementation", "Plain", "out", "--seed", "2"])
    assert (args.dfpc, args.implementation, str(args.out), args.seed) == ("Chain", "Plain", "out", 2)
    parser = make_parser("evaluate")
    args = parser.parse_args(["evaluate", "bag", "--align", "yaw", "odom", "other", "--json", "truth"])
    assert (str(args.archive), args.estimate, args.truth) == ("bag", ["odom", "other"], "truth")


@pytest.mark.parametrize(
    "arguments",
    [
        "convert bag out --topics /odom /scan --exclude-topics tf",
        "convert --topics /odom /scan --exclude-topics tf bag out",
        "convert --exclude-topics tf --topics /odom /scan bag out",
        "convert bag --exclude-topics=tf --topics /odom --topics /scan out",
    ],
)
def test_option_takes_several_topics(arguments: str) -> None:
    args = make_parser("convert").parse_args(arguments.split())
    assert (list(map(str, args.archives)), str(args.out)) == (["bag"], "out")
    assert (args.topics, args.exclude_topics) == (["/odom", "/scan"], ["tf"])


def test_number_with_exponent_is_number(archive: Path, call: Call) -> None:
    assert call("info", archive, "--set", "attitude_std_deg=1e-2")[0] == 0


def test_info_as_json_has_shape_that_is_promised(archive: Path, call: Call) -> None:
    code, out, _ = call("info", archive, "--json")
    result = json.loads(out)
    assert code == 0
    assert set(result) == {"dataset", "archive", "streams", "notes"}
    assert (result["dataset"], result["archive"]) == ("ameds", str(archive))
    assert {stream["id"]: stream for stream in result["streams"]}["imu_raw"] == {
        "id": "imu_raw",
        "topic": "/ameds/imu/data_raw",
        "type": "sensor_msgs/msg/Imu",
        "count": 200,
        "first_ns": START_NS,
        "last_ns": START_NS + 1_990_000_000,
        "rate_hz": 100.0,
        "max_gap_s": 0.01,
    }
    assert all(set(stream) == set(result["streams"][0]) for stream in result["streams"])
    assert all(isinstance(note, str) for note in result["notes"])


def test_info_names_every_topic_and_with_verbose_what_was_measured(archive: Path, call: Call) -> None:
    code, short, _ = call("info", archive)
    assert (code, "measured: " in short) == (0, False)
    assert short.count("  note: ") <= 10 and re.search(r"  \d+ more notes: --verbose\n", short)
    code, out, _ = call("info", archive, "--verbose")
    assert code == 0
    assert re.search(r"/ameds/imu/data_raw +200 +100\.00 +0\.010  sensor_msgs/msg/Imu", out)
    assert "1.990 s, from 1656931512.000 to 1656931513.990" in out
    assert "note: measured: gyroscope against GnssBodyAngularVelocity has the slope 57.296" in out
    assert "MainCamVideoFeed.mp4: a video of the jpg images" in out


def test_check_exits_with_0_where_there_is_nothing_to_say(archive: Path, call: Call) -> None:
    code, out, _ = call("check", archive)
    *measured, last = out.splitlines()
    assert (code, last) == (0, f"{archive}: no defects")
    assert measured[0] == "measured: gyroscope against GnssBodyAngularVelocity has the slope 57.296"
    assert all(line.startswith("measured: ") for line in measured)


def test_check_exits_with_1_and_names_place_and_stream_of_each_defect(tiny_ameds: Any, call: Call) -> None:
    table, image = tiny_ameds.root / "MainArmJointAngles.csv", tiny_ameds.root / "AuxCam_1656931512.000000.jpg"
    table.write_text(table.read_text() + "1656931514,1\n")
    image.write_bytes(b"")
    code, out, _ = call("check", tiny_ameds.root)
    assert code == 1
    assert f"short_row: {table.name}:3: expected 8 columns, got 2: '1656931514,1'\n" in out
    assert out.endswith(f"{tiny_ameds.root}: 2 defects\n")
    code, out, _ = call("check", tiny_ameds.root, "--json")
    result = json.loads(out)
    assert code == 1
    assert set(result) == {"dataset", "archive", "playable", "defects"}
    assert (result["dataset"], result["archive"], result["playable"]) == ("ameds", str(tiny_ameds.root), True)
    by_file = {defect.pop("file"): defect for defect in result["defects"]}
    assert by_file[table.name] == {
        "row": 3,
        "stream": None,
        "kind": "short_row",
        "message": "expected 8 columns, got 2: '1656931514,1'",
        "sample": None,
        "byte": None,
    }
    message = "expected a JPEG, PNG or BMP image, got an empty file"
    position = {"row": None, "stream": "aux_cam", "sample": None, "byte": None}
    assert by_file[image.name] == {**position, "kind": "damaged_picture", "message": message}


def test_thousand_defects_of_kind_are_listed_and_all_are_counted(tiny_ameds: Any, call: Call) -> None:
    table = tiny_ameds.root / "GnssImu.csv"
    table.write_text(table.read_text() + "x,1\n" * 1500)
    code, out, _ = call("check", tiny_ameds.root)
    assert code == 1
    assert out.count("short_row: GnssImu.csv:") == 1001
    assert "short_row: GnssImu.csv: and 500 more\n" in out
    assert out.endswith(": 1500 defects\n")
    assert "1500 defects: 1500 short_row\n" in call("info", tiny_ameds.root)[1]


def test_name_that_no_terminal_can_show_is_reported_all_same(tiny_ameds: Any, call: Call) -> None:
    (tiny_ameds.root / os.fsdecode(b"MainCam_\xff.jpg")).write_bytes(b"")
    code, out, _ = call("check", tiny_ameds.root)
    assert code == 1
    assert r"MainCam_\udcff.jpg: expected a time in the name" in out


def test_dataset_is_detected_or_named(archive: Path, tmp_path: Path, call: Call) -> None:
    assert call("info", archive, "--dataset", "ameds")[0] == 0
    (tmp_path / "other").mkdir()
    code, _, err = call("info", tmp_path / "other", "--dataset", "ameds")
    assert code == 1
    assert f"fieldplay: {tmp_path / 'other'}: nothing of ameds in it that can be read" in err


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--topics", "imu/data$"], {"/tf_static": 1, "/ameds/imu/data": 200}),
        (["--topics", "imu/data$", "--start", "1"], {"/tf_static": 1, "/ameds/imu/data": 100}),
        (["--topics", "imu/data$", "--start", "0.5", "--duration", "0.1"], {"/tf_static": 1, "/ameds/imu/data": 11}),
        (["--topics", "imu/data$", "--namespace", "/a/b/"], {"/tf_static": 1, "/a/b/imu/data": 200}),
        (["--topics", "imu/data$", "--namespace", ""], {"/tf_static": 1, "/imu/data": 200}),
        (["--topics", "projected", "--duration", "0", "--images", "raw"],
         {"/tf_static": 1, "/ameds/projected/image_raw": 1}),
        (["--topics", "projected", "--duration", "0", "--images", "both"],
         {"/tf_static": 1, "/ameds/projected/image_raw": 1, "/ameds/projected/image_raw/compressed": 1}),
    ],
)  # fmt: skip
def test_convert_takes_part_that_is_requested(
    options: Sequence[str], expected: dict[str, int], archive: Path, tmp_path: Path, call: Call
) -> None:
    code, out, _ = call("convert", archive, tmp_path / "bag", *options)
    assert code == 0
    assert topics(tmp_path / "bag") == expected
    assert f"{tmp_path / 'bag'}: {sum(expected.values())} messages on {len(expected)} topics" in out


@pytest.mark.parametrize(
    ("options", "name", "stored"),
    [([], "bag_0.mcap", "mcap"), (["--compression", "zstd"], "bag_0.mcap", "mcap"),
     (["--storage", "sqlite3"], "bag_0.db3", "sqlite3")],
)  # fmt: skip
def test_convert_stores_as_requested_and_leaves_nothing_else(
    options: Sequence[str], name: str, stored: str, archive: Path, tmp_path: Path, call: Call
) -> None:
    assert call("convert", archive, tmp_path / "new" / "bag", "--topics", "gnss", *options)[0] == 0
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["bag"]
    assert sorted(path.name for path in (tmp_path / "new" / "bag").iterdir()) == [name, "metadata.yaml"]
    assert information(tmp_path / "new" / "bag")["storage_identifier"] == stored


@pytest.mark.parametrize("options", [["--start", "100"], ["--topics", "sonar"]])
def test_convert_exits_with_1_where_nothing_is_left_to_write(
    options: Sequence[str], archive: Path, tmp_path: Path, call: Call
) -> None:
    code, out, err = call("convert", archive, tmp_path / "bag", *options)
    assert (code, out) == (1, "")
    assert err.startswith("fieldplay: ")
    assert list(tmp_path.iterdir()) == []


def test_out_that_is_there_is_refused_or_replaced_when_requested(archive: Path, tmp_path: Path, call: Call) -> None:
    bag = tmp_path / "bag"
    assert call("convert", archive, bag, "--topics", "imu/mag")[0] == 0
    code, _, err = call("convert", archive, bag, "--topics", "gnss/fix$")
    assert code == 2
    assert f"{bag} exists; --overwrite replaces it" in err
    assert "/ameds/imu/mag" in topics(bag)
    assert call("convert", archive, bag, "--topics", "gnss/fix$", "--overwrite")[0] == 0
    assert set(topics(bag)) == {"/tf_static", "/ameds/gnss/fix"}
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("dear")
    assert call("convert", archive, tmp_path / "mine", "--overwrite")[0] == 1
    assert (tmp_path / "mine" / "letter.txt").read_text() == "dear"
    (tmp_path / "link").symlink_to(tmp_path / "gone")
    assert call("convert", archive, tmp_path / "link")[0] == 2


def test_archive_is_never_written_to(tiny_ameds: Any, tmp_path: Path, call: Call) -> None:
    root = tiny_ameds.root
    (tmp_path / "link").symlink_to(root)
    before = digest(root)
    for out in (root, root / "bag", root / "new" / "bag", tmp_path / "link" / "bag"):
        code, _, err = call("convert", root, out, "--overwrite")
        assert code == 2
        assert "lies in the archive, which is never written to" in err
    (root.parent / "metadata.yaml").write_text("of a bag")
    code, _, err = call("convert", root, root.parent, "--overwrite")
    assert code == 2
    assert "holds the archive: it is not replaced" in err
    for arguments in (["info", root], ["check", root], ["convert", root, tmp_path / "bag"]):
        assert call(*arguments)[0] == 0
    assert digest(root) == before


def test_strict_measures_units_too_and_setting_cures_what_it_found(tiny_ameds: Any, tmp_path: Path, call: Call) -> None:
    table = tiny_ameds.root / "GnssImu.csv"
    table.write_text(table.read_text().replace(",-9.81,", ",9.81,"))
    code, _, err = call("convert", tiny_ameds.root, tmp_path / "bag", "--strict")
    assert code == 1
    assert "accelerometer_sign=1 does not fit, --set accelerometer_sign=-1 would" in err
    assert "1 defect, and none is allowed: nothing was written" in err
    assert not (tmp_path / "bag").exists()
    assert call("convert", tiny_ameds.root, tmp_path / "bag", "--strict", "--set", "accelerometer_sign=-1")[0] == 0


class Out(io.StringIO):
    """A stream that may be a terminal."""

    def __init__(self, *, terminal: bool) -> None:
        super().__init__()
        self.terminal = terminal

    def isatty(self) -> bool:
        return self.terminal


def test_progress_on_terminal_is_bar_that_disappears() -> None:
    now, out = [100.0], Out(terminal=True)
    bar = ProgressBar("converting", "messages", out, now=lambda: now[0])
    for now[0], fraction in ((101.0, 0.25), (101.05, 0.3), (102.0, 0.5)):
        bar(fraction, int(1000 * fraction))
    bar.finish()
    parts = out.getvalue().split("\r\x1b[K")
    assert parts[1] == f"[{'#' * 8}{'.' * 22}] converting  25%  250 messages, 250/s, 3 s left"
    assert parts[2] == f"[{'#' * 15}{'.' * 15}] converting  50%  500 messages, 250/s, 2 s left"
    assert parts[3:] == [""]


def test_progress_elsewhere_is_line_every_ten_seconds() -> None:
    now, out = [100.0], Out(terminal=False)
    bar = ProgressBar("checking", "rows", out, now=lambda: now[0])
    for now[0] in range(100, 131):
        bar((now[0] - 100) / 40, 10 * int(now[0] - 100))
    bar.finish()
    assert out.getvalue().splitlines() == [
        "checking  25%  100 rows, 10/s, 30 s left",
        "checking  50%  200 rows, 10/s, 20 s left",
        "checking  75%  300 rows, 10/s, 10 s left",
    ]


def test_play_skips_gaps_only_where_requested() -> None:
    parser = make_parser("play")
    assert parser.parse_args(["play", "archive"]).skip_gaps is None
    assert parser.parse_args(["play", "archive", "--skip-gaps", "7.5"]).skip_gaps == 7.5


@pytest.mark.parametrize("command", sorted({*commands()} - {"cdff", "sample", "list"}))
def test_help_of_command_is_grouped_and_ends_with_examples(call: Call, command: str) -> None:
    code, out, _ = call(command, "--help")
    usage, _, rest = out.partition("\n")
    assert code == 0
    assert re.match(rf"usage: fieldplay {command} \[OPTIONS\] .+", usage)
    assert re.search(r"\n\n(input|steps|pipeline|selection):\n  -", rest)
    examples = rest.rpartition("\nexample")[2].splitlines()[1:]
    assert examples
    for example in examples:
        assert example.startswith(f"  fieldplay {command} ")


def test_help_shows_default_of_option_once(call: Call) -> None:
    out = " ".join(call("evaluate", "--help")[1].split())
    assert "maximum time between the poses, s (default: 0.25)" in out
    assert "seconds to take (default: all)" in out  # as the option says itself


def test_help_names_every_command_and_option(call: Call) -> None:
    code, out, _ = call("--help")
    assert code == 0
    for command in ("list", "info", "check", "convert", "play", "report", "sample"):
        assert re.search(rf"^ +{command} +\w", out, re.MULTILINE)
    code, out, _ = call("convert", "--help")
    assert code == 0
    options = (
        "dataset set images start duration topics namespace frame-prefix derived storage compression overwrite strict"
    )
    for option in options.split():
        assert re.search(rf"^ +(-\w [\w{{}},]+, )?--{option}\b.*", out, re.MULTILINE), option
