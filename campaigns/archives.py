"""Whole archives with one file changed: topics that do not come of it stay as they were, message by message."""

import atexit
import hashlib
import random
import shutil
import tempfile
from collections import defaultdict
from collections.abc import Callable, Mapping
from pathlib import Path

import fieldplay
from campaigns.frame import Found, Inputs, WrongError
from campaigns.mutations import BYTES, LINES, XML_PARTS, YAML_PARTS, changed, with_parts
from fieldplay.core.errors import ArchiveError, UserError
from fieldplay_testing.tiny_ameds import TinyAmeds
from fieldplay_testing.tiny_sherpatt import write_archive
from support import tiny_kitti
from support.tiny_acfr import TinyAcfr
from support.tiny_euroc import TinyEuroc
from support.tiny_ida import TinyIda
from support.tiny_rosario import TinyRosario

MOST_ALIKE = 2  # files of a folder that only their numbers tell apart: of many pictures so many stay
TEXTS = (".csv", ".txt", ".log", ".xml", ".yaml", ".tab", ".tum")
MEMORY = Path("/dev/shm")
Digests = Mapping[str, str]


class Archive(Inputs):
    """See above; an input is the name of a file, a line feed, and what it then holds."""

    suffix = "file"
    slow_s = 10.0  # it is opened several times

    def __init__(self, write: Callable[[Path], object]) -> None:
        folder = tempfile.mkdtemp(prefix="campaign-", dir=MEMORY if MEMORY.is_dir() else None)
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        self._root = Path(folder) / "archive"
        write(self._root)
        _thin_out(self._root)
        self._contents = {
            path.relative_to(self._root).as_posix(): path.read_bytes()
            for path in sorted(self._root.rglob("*"))
            if path.is_file()
        }
        self._whole, _ = self._opened()
        self._of_file: dict[str, set[str]] = {}

    def mutated(self, draw: random.Random) -> bytes:
        name = draw.choice(list(self._contents))
        data = self._contents[name]
        is_text = name.lower().endswith(TEXTS)
        if name.endswith((".xml", ".yaml")) and draw.random() < 0.5:
            return f"{name}\n".encode() + with_parts(draw, data, XML_PARTS if name.endswith(".xml") else YAML_PARTS)
        return f"{name}\n".encode() + changed(draw, data, LINES if is_text else BYTES)

    def look(self, data: bytes) -> Found:
        head, _, content = data.partition(b"\n")
        name = head.decode()
        free = self._topics_of(name)
        path = self._root / name
        path.write_bytes(content)
        try:
            digests, defects = self._opened()
        except UserError as error:
            if set(self._whole) <= free:  # as of a list of times that all need
                return Found("refused", str(error))
            raise WrongError(f"the whole archive is refused for one file: {name}: {error}") from error
        finally:
            path.write_bytes(self._contents[name])
        lost = [topic for topic in self._whole if topic not in free and digests.get(topic) != self._whole[topic]]
        if lost:
            raise WrongError(f"other topics than those of the file are not as they were: {name}: {', '.join(lost)}")
        return Found("told" if defects else "read", (tuple(sorted(digests.items())), defects))

    def _topics_of(self, name: str) -> set[str]:
        """The topics that are others where the file is not there, or has other numbers: these may be others now."""
        if name not in self._of_file:
            other = self._contents[name].translate(bytes.maketrans(b"123456", b"234561"))
            self._of_file[name] = {"/tf_static"}  # which stands at the archive's begin, wherever that is
            paired = Path(name).with_suffix(".csv").as_posix()
            if name.endswith(".xml") and paired in self._contents:  # a label says what the columns of its table are
                self._of_file[name] |= self._topics_of(paired)
            for content in (None, other, other[: len(other) // 2]):
                self._of_file[name] |= self._changed_topics(name, content)
        return self._of_file[name]

    def _changed_topics(self, name: str, content: bytes | None) -> set[str]:
        path = self._root / name
        path.unlink()
        if content is not None:
            path.write_bytes(content)
        try:
            digests, _ = self._opened()
        except ArchiveError:
            digests = {}
        finally:
            path.write_bytes(self._contents[name])
        topics = self._whole.keys() | digests.keys()
        return {topic for topic in topics if digests.get(topic) != self._whole.get(topic)}

    def _opened(self) -> tuple[Digests, tuple[str, ...]]:
        """What is sent on each topic, and the defects; that of a check are at least those of reading all."""
        sums: dict[str, hashlib._Hash] = defaultdict(hashlib.sha1)
        with fieldplay.open(self._root) as opened:
            for message in opened.messages():
                sums[message.topic].update(message.stamp_ns.to_bytes(8, "big", signed=True))
                sums[message.topic].update(message.data)
            read = set(map(str, opened.defects))
        with fieldplay.open(self._root) as opened:
            checked = tuple(map(str, opened.check()))
        if not read <= set(checked):
            raise WrongError(f"a defect that check does not tell: {sorted(read - set(checked))[0]}")
        return {topic: each.hexdigest() for topic, each in sums.items()}, checked


def _thin_out(root: Path) -> None:
    """Leave some files of those that are alike, and none that is large."""
    alike: dict[tuple[Path, str, str], int] = defaultdict(int)
    for path in sorted(path for path in root.rglob("*") if path.is_file()):
        key = path.parent, path.suffix, path.name.rstrip("0123456789._-" + path.suffix)[:6]
        alike[key] += path.suffix in (".jpg", ".png", ".bmp", ".pcd", ".jpeg")
        if alike[key] > MOST_ALIKE or path.suffix == ".mp4":
            path.unlink()


def ameds() -> Archive:
    """Tables, pictures and clouds."""
    return Archive(lambda root: TinyAmeds(root, seconds=1).write_all())


def ida() -> Archive:
    """Tables with labels, logs of states, parameters."""
    return Archive(lambda root: TinyIda(root).write_all())


def acfr() -> Archive:
    """Marked lines and pictures."""
    return Archive(lambda root: TinyAcfr(root / "29-DynamicDayTriangleClear", seconds=0.3).write_all())


def rosario() -> Archive:
    """Logs, NMEA, a calibration in YAML, pictures."""

    def write(root: Path) -> None:
        TinyRosario(root / "sequence01", seconds=1).write_all()

    return Archive(write)


def sherpatt() -> Archive:
    """Logs of MessagePack."""
    return Archive(write_archive)


def euroc() -> Archive:
    """Tables whose headers have units, calibration in YAML, lists of images."""
    return Archive(lambda root: TinyEuroc(root).write_all())


def kitti_drive() -> Archive:
    """A text for each row, lists of times, clouds of text, calibration in lines."""
    return Archive(lambda root: tiny_kitti.TinyDrive(root / tiny_kitti.DATE, "extract").write_all())


def kitti_sequence() -> Archive:
    """Poses, times, clouds of floats, calibration in lines."""
    return Archive(tiny_kitti.write_sequence)
