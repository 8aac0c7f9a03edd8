"""Trajectories in files of TUM, KITTI and EuRoC: each pose is that of its line, and none is lost in silence."""

import atexit
import random
import re
import shutil
import tempfile
from pathlib import Path

import numpy as np

from campaigns.frame import Found, Inputs, WrongError
from campaigns.mutations import LINES, changed
from campaigns.tables import START_S, ns_of_text
from fieldplay.core.errors import UserError
from fieldplay.evaluation.pose_files import TIMES_FILE, load_pose_file
from fieldplay.trajectories.trajectory import Trajectory

ROWS, NS = 8, 10**9
LONG_DIGITS, LONGEST_TIME = 15, 20  # of whole numbers that are nanoseconds; characters of times that are no ties
SHORTEST = 0.5  # a quaternion that tells a rotation
NUMBERED = re.compile(r", row (\d+): ")
MEMORY = Path("/dev/shm")


def _row(form: str, row: int) -> str:
    position = (0.125 * row, -0.25 * row, 1.5)
    if form == "kitti":
        return " ".join(map(str, (1, 0, 0, position[0], 0, 0, -1, position[1], 0, 1, 0, position[2])))
    if form == "euroc":
        return ",".join(map(str, ((START_S + row) * NS, *position, 0.8, 0, 0, 0.6)))
    time = f"{START_S + row}.5" if form == "tum" else str((START_S + row) * NS + 5)
    return " ".join([time, *map(str, position), "0 0 0.6 0.8"])


HEADS = {
    "tum": "# t x y z qx qy qz qw\n",
    "long": "",
    "kitti": "",
    "euroc": "#timestamp,x,y,z,qw,qx,qy,qz\n",
    "times": "",
}


class Trajectories(Inputs):
    """See above; the first line of an input says of which form it is, of `times` the file beside KITTI's poses."""

    suffix = "poses"

    def __init__(self) -> None:
        folder = tempfile.mkdtemp(prefix="campaign-", dir=MEMORY if MEMORY.is_dir() else None)
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        self._path, self._beside = Path(folder) / "a.txt", Path(folder) / TIMES_FILE
        self._rows = {form: tuple(_row(form, row) for row in range(ROWS)) for form in HEADS if form != "times"}
        self._rows["times"] = tuple(f"{row / 8}" for row in range(ROWS))

    def mutated(self, draw: random.Random) -> bytes:
        form = draw.choice(list(self._rows))
        text = HEADS[form] + "".join(f"{row}\n" for row in self._rows[form])
        return f"{form}\n".encode() + changed(draw, text.encode(), LINES)

    def look(self, data: bytes) -> Found:
        head, _, content = data.partition(b"\n")
        form, text = head.decode(), list[str]()
        self._beside.unlink(missing_ok=True)
        if form == "times":
            self._beside.write_bytes(content)
            content = "\n".join(self._rows["kitti"]).encode()
        self._path.write_bytes(content)
        try:
            trajectory = load_pose_file(self._path, report=text.append).trajectory
        except UserError as error:
            self._compare_refused(form, data.partition(b"\n")[2], str(error))
            raise
        if form != "times":
            _compare(content.decode("utf-8-sig"), trajectory, text)
        what = trajectory.stamp_ns.tobytes(), trajectory.poses.tobytes(), tuple(text)
        return Found("told" if text else "read", what)

    def _compare_refused(self, form: str, content: bytes, error: str) -> None:
        """A file of poses is refused for a line alone, and that is one of its lines."""
        if "it is no text" in error:
            return
        lines = [line.strip() for line in content.decode("utf-8-sig").split("\n")]
        rows = [line for line in lines if line and not line.startswith("#")]
        if rows and set(rows) <= set(self._rows[form]) and (form != "times" or len(rows) == ROWS):
            raise WrongError(f"refused though nothing touched its rows: {error}")
        named = NUMBERED.search(error) if sum(row in self._rows[form] for row in rows) > len(rows) / 2 else None
        if named and (int(named[1]) > len(lines) or lines[int(named[1]) - 1] in self._rows[form][1:]):
            raise WrongError(f"refused for a line that nothing touched: {error}")


def _compare(text: str, result: Trajectory, message: list[str]) -> None:
    rows = [line.strip() for line in text.split("\n" if "\n" in text else "\r")]
    rows = [line for line in rows if line and not line.startswith("#")]
    delimiter = "," if 2 * sum("," in row for row in rows) > len(rows) else None
    cells = [[cell.strip() for cell in line.split(delimiter)] for line in rows]
    if np.isnan([_number(cell) for cell in cells[0]]).all() and "nan" not in map(str.lower, cells[0]):
        del cells[0]
    widths = {len(line) for line in cells}
    numbers = np.array([list(map(_number, line)) for line in cells]) if len(widths) == 1 else np.zeros((0, 0))
    if len(widths) != 1 or len(numbers) < len(result):
        raise WrongError(f"more poses than lines: {len(result)}, {sorted(widths)}")
    if numbers.shape[1] == 12:
        positions, turns, times = numbers[:, 3::4], None, list(range(0, len(cells) * NS, NS))
    else:
        is_euroc = delimiter is not None and cells[0][0].lstrip("+-").isdecimal()
        positions, turns = numbers[:, 1:4], numbers[:, [5, 6, 7, 4] if is_euroc else slice(4, 8)]
        times = _times([line[0] for line in cells], is_whole=is_euroc)
    meant = {time: row for row, time in reversed(list(enumerate(times))) if _is_pose(positions, turns, row)}
    if len(meant) != len(result) and not message:
        raise WrongError(f"poses are missing, and nothing is told of that: {len(result)} of {len(meant)}")
    for row, stamp in enumerate(result.stamp_ns.tolist()):
        at = next((time for time in (stamp, stamp - 1, stamp + 1) if time in meant), None)
        if at is None or not np.array_equal(result.positions_m[row], positions[meant[at]]):
            raise WrongError(f"a pose is not that of its line: {stamp}, {result.positions_m[row]}")
        if turns is not None and result.has_orientation:
            x, y, z, w = turns[meant[at]] / np.abs(turns[meant[at]]).max()
            if not np.isclose(result.poses[row, 0, 0], 1 - 2 * (y * y + z * z) / (x * x + y * y + z * z + w * w)):
                raise WrongError(f"a turn is not that of its line: {stamp}, {result.poses[row]}, {turns[meant[at]]}")


def _is_pose(positions: np.ndarray, turns: np.ndarray | None, row: int) -> bool:
    is_turn = turns is None or bool(np.isfinite(turns[row]).all())
    return bool(np.isfinite(positions[row]).all()) and is_turn


def _times(texts: list[str], *, is_whole: bool) -> list[int]:
    wholes = [text.partition(".")[0] for text in texts]
    is_whole = is_whole or all(len(each) >= LONG_DIGITS for each in wholes)
    return list(map(int, wholes)) if is_whole else list(map(ns_of_text, texts))


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return np.nan
