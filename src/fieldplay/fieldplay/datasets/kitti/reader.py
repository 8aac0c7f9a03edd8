"""KITTI: a raw drive (`_sync`, `_extract`) or an odometry sequence, as a folder or a zip."""

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path, PurePosixPath

import numpy as np
from numpy.typing import NDArray

from fieldplay.core.errors import ArchiveError, Defect
from fieldplay.core.timestamps import NS_PER_S
from fieldplay.datasets.archive import note_ignored_files
from fieldplay.datasets.base_reader import DatasetReader
from fieldplay.datasets.kitti.calibration import CAMERAS, LIDAR, RAW_FILES, Rig, rig_of_drive, rig_of_sequence
from fieldplay.datasets.kitti.oxts import POSE_COLUMNS, OxtsConversions, geodetic_from_rows, odometry_from_poses
from fieldplay.datasets.row_files import (
    cloud_decoder,
    cloud_stream,
    file_table,
    further_times,
    image_stream,
    timed_files,
)
from fieldplay.io.calibration_files import KittiCalibration, calibration_from_lines
from fieldplay.io.containers import Files, FilesBelow, read_companion
from fieldplay.io.file_table import rows_with_times
from fieldplay.io.plain_clouds import add_azimuth_times
from fieldplay.io.table import TableStream
from fieldplay.io.time_list import time_list_from_bytes
from fieldplay.messages.image_headers import image_from_bytes
from fieldplay.streams.stream import FileStream, InMemoryStream, Stream

RAW = re.compile(
    r"(?P<folder>.*?)/?(?:image_0[0-3]|oxts|velodyne_points)/(?:data/\d{10}\.\w+|timestamps(?:_start|_end)?\.txt)"
)
SEQUENCE = re.compile(r"(?P<folder>.*?)/?(?:(?:image_[0-3]|velodyne)/\d{6}\.(?:png|bin)|calib\.txt|times\.txt)")
NAMES = r"\d{10}\.\w+|\d{6}\.(png|bin)|timestamps(_start|_end)?\.txt|times\.txt|calib\.txt"
DRIVE = re.compile(r"(?P<date>\d{4}_\d\d_\d\d)_drive_\d+(?:_(?P<kind>sync|extract))?")
TRUTH, SWEEP_S = "ground_truth", 0.1  # of a sweep whose end is not known


def drive_folders(files: Files) -> list[str]:
    """List the folders of raw drives in an archive; that of its root is empty."""
    return sorted({match["folder"] for name in files.matching(NAMES) if (match := RAW.fullmatch(name))})


def sequence_folders(root: Path, files: Files) -> list[str]:
    """List the folders of odometry sequences: with times or a calibration, and images or clouds, or in `sequences`."""
    kinds: dict[str, set[bool]] = {}
    for name in files.matching(NAMES):
        if match := SEQUENCE.fullmatch(name):
            kinds.setdefault(match["folder"], set()).add(name.endswith(".txt"))
    return sorted(n for n in kinds if len(kinds[n]) > 1 or PurePosixPath(root.resolve(), n).parent.name == "sequences")


def recognises(path: Path, files: Files) -> bool:
    """Check whether files lie as those of a raw drive or an odometry sequence do.

    Args:
        path: of the archive.
        files: its files.

    Returns:
        Whether they do.
    """
    return bool(drive_folders(files) or sequence_folders(path, files))


class Reader(DatasetReader):
    """A drive or a sequence of KITTI."""

    def make_streams(self) -> Mapping[str, Stream]:
        archive, drives = self.archive, drive_folders(self.files)
        self.folder = self.only_folder([*drives, *sequence_folders(archive.root, self.files)])
        self.below, self.root = FilesBelow(self.files, self.folder), archive.root.resolve()
        self.name = PurePosixPath(self.folder).name or (self.root.stem if self.root.is_file() else self.root.name)
        images = {key: timed_files(archive, self.below, key) for key in CAMERAS}
        streams: dict[str, Stream] = {k: image_stream(self.below, *files) for k, files in images.items() if files[0]}
        rig = self._drive_rig() if drives else self._sequence_rig({key: images[key][0][0] for key in streams})
        streams |= self._oxts_streams() if drives else self._true_poses(rig)
        streams |= self._lidar_stream(is_drive=bool(drives))
        self.describe(cameras=rig.cameras, frames=rig.frames)
        pair = CAMERAS[2:] if CAMERAS[0] not in streams and CAMERAS[2] in streams else CAMERAS[:2]
        fusion = {port: f"{name}/image_raw" for port, name in zip(("leftImage", "rightImage"), pair, strict=True)}
        truth = "odometry" if drives else TRUTH
        archive.spec = replace(archive.spec, truth=truth if truth in streams else "", fusion=fusion)
        archive.recording |= {"name": self.name, "area": "Karlsruhe, Germany"}
        read = [*self.files.matching(r"(timestamps(_start|_end)?|times|calib.*|poses)\.txt")]
        note_ignored_files(archive, self.files, read=read + self.files.matching(r"\d\d\.txt", "poses"))
        return streams

    def _calibration(self, name: str, data: bytes) -> KittiCalibration:
        def report(line: int | None, kind: str, message: str) -> None:
            message = f"{message}; what needs it is left out"
            self.archive.defects(Defect(file=name, row=line, kind=kind, message=message))

        return calibration_from_lines(data, report)

    def _drive_rig(self) -> Rig:
        """Cameras and frames by the calibration of the day: in the archive, above it, or next to it as downloaded."""
        root, match = self.root, DRIVE.match(self.name) or DRIVE.match(self.root.name)
        date, kind = (match["date"], match["kind"]) if match else ("", None)
        folders = [root.parent, root.parent / date, root.parent / f"{date}_calib" / date, root.parent.parent / date]
        calibrations = {}
        for name in RAW_FILES:
            paths = [*(folder / name for folder in folders), root.parent / f"{date}_calib.zip"]
            file = read_companion(self.files, re.escape(name), paths, self.archive.defects)
            if file is None:
                self.archive.note_missing(name, "expected it in the archive, above it or in the day's zip, got none")
            else:
                calibrations[name] = self._calibration(*file)
        is_rectified = not self.below.matching(r"\d{10}\.txt", "velodyne_points") if kind is None else kind == "sync"
        self.archive.notes.append(f"images: {'rectified' if is_rectified else 'as the cameras took them'}")
        return rig_of_drive(calibrations, is_rectified=is_rectified)

    def _sequence_rig(self, first_images: Mapping[str, str]) -> Rig:
        sizes = {}
        for key, name in first_images.items():
            with suppress(ArchiveError):  # which is reported as it plays
                header = image_from_bytes(self.files.read(name))
                sizes[key] = (header.width, header.height)
        file = read_companion(self.below, r"calib\.txt", [], self.archive.defects)
        if file is None:
            self.archive.note_missing("calib.txt", "expected the calibration of the sequence, got none")
        rig = rig_of_sequence(None if file is None else self._calibration(*file), sizes)
        if file is not None and LIDAR not in rig.frames["base_link"]:
            self.archive.notes.append(f"{file[0]}: no Tr: base_link is the left grey camera, turned to x forward")
        return rig

    def _true_poses(self, rig: Rig) -> dict[str, Stream]:
        """ground_truth/odom of the sequence's own poses, or those two folders above it, as KITTI has them."""
        report, name = self.archive.defects, rf"{re.escape(self.name)}\.txt"
        paths = [above / "poses" / f"{self.name}.txt" for above in self.root.parents[:2]]
        poses = read_companion(self.below, rf"poses\.txt|{name}", [], report)
        poses = poses or read_companion(self.files, name, paths, report, folder="poses")
        times = read_companion(self.below, r"times\.txt", [], lambda defect: None)  # which images and clouds report
        if poses is None or times is None or rig.camera_t_base is None:
            missing = f"poses/{self.name}.txt" if poses is None else "times.txt" if times is None else "a calibration"
            self.archive.notes.append(f"no ground truth: expected {missing}, got none")
            return {}
        rows = rows_with_times(
            poses[1], time_list_from_bytes(times[1]), POSE_COLUMNS, name=poses[0], stream=TRUTH, report=report
        )
        return {TRUTH: InMemoryStream(odometry_from_poses(rows, rig.camera_t_base))} if len(rows) else {}

    def _oxts_streams(self) -> dict[str, Stream]:
        table = file_table(self.archive, self.below, "oxts")
        if table is None:
            return {}
        convert = OxtsConversions(parameters=self.archive.parameters, origin=geodetic_from_rows(table.rows(0))[0])
        makers = {"imu": convert.imu, "fix": convert.fix, "velocity": convert.velocity, "odometry": convert.odometry}
        return {key: TableStream(table, make) for key, make in makers.items()}

    def _lidar_stream(self, *, is_drive: bool) -> dict[str, FileStream]:
        """Clouds at their times; those whose points have times at the start of their sweeps."""
        archive, with_time = self.archive, self.archive.parameters["point_time"]
        is_text = bool(self.below.matching(r"\d{10}\.txt", "velodyne_points"))
        decode, has_starts = cloud_decoder(archive, LIDAR), bool(self.below.matching(r"timestamps_start\.txt"))
        is_timed = is_drive and has_starts and with_time in ("always", "extract" if is_text else "always")
        names, stamp_ns = timed_files(archive, self.below, "sweeps" if is_timed else LIDAR)
        if not names or not is_timed:
            return {LIDAR: cloud_stream(self.below, names, stamp_ns, decode)} if names else {}
        ends = further_times(archive, self.below, names, times=r"timestamps_end\.txt", key=LIDAR)
        starts = dict(zip(names, stamp_ns.tolist(), strict=True))
        lengths_ns = {name: ends.get(name, start_ns) - start_ns for name, start_ns in starts.items()}
        add_times = partial(add_azimuth_times, is_clockwise=archive.parameters["velodyne_rotation"] == "clockwise")

        def decode_with_times(data: bytes, name: str) -> NDArray[np.void]:
            length_ns = lengths_ns[name]
            return add_times(decode(data, name), length_ns / NS_PER_S if length_ns > 0 else SWEEP_S)

        return {LIDAR: cloud_stream(self.below, names, stamp_ns, decode_with_times)}


open_archive = Reader.open
