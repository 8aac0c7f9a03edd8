"""A sequence of EuRoC or another recording in the ASL layout: a folder or zip with `mav0/` in it, or `mav0/` itself."""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fieldplay.datasets.archive import Archive, note_ignored_files, open_tables
from fieldplay.datasets.base_reader import DatasetReader
from fieldplay.datasets.euroc.calibration import (
    BASE,
    CAMERAS,
    Calibration,
    note_missing_calibration,
    read_calibration,
    rectified_cameras,
    sensor_entries,
)
from fieldplay.datasets.row_files import image_stream, timed_files
from fieldplay.datasets.spec import ImuNoise
from fieldplay.geometry import axes
from fieldplay.geometry.transforms import (
    inverse_from_transform,
    quaternion_from_rotation,
    rotation_from_quaternion,
    transform_from_rotation,
)
from fieldplay.io.containers import Files, FilesBelow
from fieldplay.io.table import Tables, TableStream
from fieldplay.io.table_rows import TimedRows
from fieldplay.messages import records
from fieldplay.streams.stream import Stream

SENSOR = re.compile(r"(?P<folder>.*?)/?(?:cam|imu)\d+/(?:data\.csv|sensor\.yaml)", re.IGNORECASE)
UNKNOWN_VARIANCE = 1e6
TRUTH, MOCAP = "ground_truth", "mocap"
Floats = NDArray[np.float64]


def sequence_folders(files: Files) -> list[str]:
    """List the folders that hold the folders of cameras or an IMU.

    Args:
        files: the files of an archive.

    Returns:
        Their names; that of the archive's own root is empty.
    """
    names = [*files.matching(r"data\.csv"), *files.matching(r"sensor\.yaml")]
    return sorted({match["folder"] for name in names if (match := SENSOR.fullmatch(name))})


def recognises(path: Path, files: Files) -> bool:
    """Check whether files are in the ASL layout.

    Args:
        path: of the archive.
        files: its files.

    Returns:
        Whether some lie as `cam0/data.csv` or `imu0/sensor.yaml` do.
    """
    return bool(sequence_folders(files))


class Reader(DatasetReader):
    """A sequence in the ASL layout."""

    def make_streams(self) -> Mapping[str, Stream]:
        archive = self.archive
        folder = self.only_folder(sequence_folders(self.files))
        files = FilesBelow(self.files, folder)
        calibration = read_calibration(archive, files, self.files)
        self.describe(cameras=rectified_cameras(archive, calibration), frames={BASE: calibration.base_t_sensor})
        archive.spec = replace(archive.spec, imu_noise=calibration.noise)
        tables = open_tables(archive, files)
        streams = _table_streams(archive, tables, self._base_t_truth(files))
        for key in CAMERAS:
            names, stamp_ns = timed_files(archive, files, key)
            if names:
                streams[key] = image_stream(files, names, stamp_ns)
        note_missing_calibration(archive, calibration, streams)
        self._note_recording(files, calibration, folder)
        return streams

    def _base_t_truth(self, files: Files) -> Floats:
        """base_link_T_sensor (4, 4) of the sensor whose poses are the truth: usually it is the body itself."""
        for name in files.matching(r"sensor\.yaml", self.archive.spec.tables[TRUTH].folder):
            entries = sensor_entries(self.archive, files, name, TRUTH)
            transform = entries.transform("T_BS") if entries is not None and entries.has("T_BS") else None
            if transform is not None:
                return transform
        return np.eye(4)

    def _note_recording(self, files: Files, calibration: Calibration, folder: str) -> None:
        archive, read = self.archive, [*calibration.files, *files.matching(r"sensor\.yaml")]
        for table in archive.spec.rows.values():
            read += files.matching(table.times, table.folder)
        for name in files.matching(r"body\.yaml"):
            read.append(name)
            entries = sensor_entries(archive, files, name, "")
            if entries is not None and entries.has("comment"):
                archive.recording["notes"] = str(entries.entry("comment"))
        last = folder.removesuffix("mav0").rstrip("/").rpartition("/")[2]
        root = archive.root.resolve()
        archive.recording["name"] = last or (root.parent if root.name == "mav0" else root).stem
        note_ignored_files(archive, self.files, read=read)


open_archive = Reader.open


def _table_streams(archive: Archive, tables: Mapping[str, Tables], base_t_truth: Floats) -> dict[str, Stream]:
    truth = TRUTH if TRUTH in tables else MOCAP
    makers: dict[str, tuple[str, Callable[[TimedRows], records.Record]]] = {
        "imu": ("imu", partial(_imu, archive.imu_noise)),
        TRUTH: (truth, partial(_odometry, base_t_truth if truth == TRUTH else np.eye(4))),
        "leica": ("leica", _pose),
        "vicon": ("vicon", _pose),
    }
    return {key: TableStream(tables[kind], make) for key, (kind, make) in makers.items() if kind in tables}


def _imu(noise: ImuNoise | None, rows: TimedRows) -> records.Imu:
    """imu0/data.csv: rates and specific force in the axes of the IMU; covariances by the noise at its rate."""
    force_variance, rate_variance = (0.0, 0.0) if noise is None else noise.variances
    count = (len(rows), 3)
    return records.Imu(
        stamp_ns=rows.stamp_ns,
        angular_velocity_rad_s=rows.columns("w_RS_S_x", "w_RS_S_y", "w_RS_S_z"),
        linear_acceleration_m_s2=rows.columns("a_RS_S_x", "a_RS_S_y", "a_RS_S_z"),
        angular_velocity_covariance=axes.diagonal(np.full(count, rate_variance)),
        linear_acceleration_covariance=axes.diagonal(np.full(count, force_variance)),
    )


def _orientation(rows: TimedRows) -> Floats:
    """Unit quaternions x y z w (n, 4); rows without a length have the identity."""
    quaternions = rows.columns("q_RS_x", "q_RS_y", "q_RS_z", "q_RS_w")
    length = np.linalg.norm(quaternions, axis=1, keepdims=True)
    return np.where(length > 0, quaternions / np.where(length > 0, length, 1.0), [0.0, 0.0, 0.0, 1.0])


def _pose(rows: TimedRows) -> records.Pose:
    """leica0, vicon0: what is tracked, in the frame R of the world, as archived; a prism has no orientation."""
    identity = np.tile([0.0, 0.0, 0.0, 1.0], (len(rows), 1))
    return records.Pose(
        stamp_ns=rows.stamp_ns,
        position_m=rows.columns("p_RS_R_x", "p_RS_R_y", "p_RS_R_z"),
        orientation_xyzw=_orientation(rows) if rows.has("q_RS_w") else identity,
    )


def _odometry(base_t_sensor: Floats, rows: TimedRows) -> records.Odometry:
    """The ground truth: poses of the sensor in R become those of base_link, and the velocity in R one in base_link."""
    position, orientation = rows.columns("p_RS_R_x", "p_RS_R_y", "p_RS_R_z"), _orientation(rows)
    if np.abs(base_t_sensor - np.eye(4)).max() > 0:
        poses = transform_from_rotation(rotation_from_quaternion(orientation), position)
        poses = poses @ inverse_from_transform(base_t_sensor)
        position, orientation = poses[:, :3, 3], quaternion_from_rotation(poses[:, :3, :3])
    velocity, variances = np.zeros((len(rows), 3)), np.full((len(rows), 6), UNKNOWN_VARIANCE)
    if rows.has("v_RS_R_x"):
        conjugate = orientation * [-1.0, -1.0, -1.0, 1.0]
        velocity = axes.rotate_vectors(conjugate, rows.columns("v_RS_R_x", "v_RS_R_y", "v_RS_R_z"))
        variances[:, :3] = 0.0
    return records.Odometry(
        stamp_ns=rows.stamp_ns,
        position_m=position,
        orientation_xyzw=orientation,
        pose_covariance=np.zeros((len(rows), 6, 6)),
        linear_velocity_m_s=velocity,
        angular_velocity_rad_s=np.zeros((len(rows), 3)),
        twist_covariance=axes.diagonal(variances),
    )
