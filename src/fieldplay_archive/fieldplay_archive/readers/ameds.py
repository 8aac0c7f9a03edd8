"""AMEDS, the ARCHES Mount Etna dataset: a folder as unpacked, or the zip as downloaded."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldplay_archive import velodyne
from fieldplay_archive.archive import Archive, chosen_parameters, note_leftovers, open_tables
from fieldplay_archive.axes import flu_from_frd
from fieldplay_archive.errors import ArchiveError
from fieldplay_archive.files import Files, open_files
from fieldplay_archive.pcd import cloud_from_pcd
from fieldplay_archive.readers import ameds_tables as convert
from fieldplay_archive.readers.ameds_checks import check_settings
from fieldplay_archive.records import Record
from fieldplay_archive.row_files import cloud_stream, picture_stream, timed_files
from fieldplay_archive.spec import DatasetSpec
from fieldplay_archive.stamps import NS_PER_S
from fieldplay_archive.streams import Stream, Tables, TableStream
from fieldplay_archive.tables import Rows

MM = 1e-3
POINT = [("x", "<f4"), ("y", "<f4"), ("z", "<f4"), ("intensity", "<f4"), ("ring", "<u2")]
INTENSITY_NAMES = ("intensity", "i")


def open_archive(root: Path, spec: DatasetSpec, parameters: Mapping[str, Any]) -> Archive:
    """Look through an archive of AMEDS; what it lacks is noted, what is defective is reported."""
    archive = Archive(root=root, spec=spec, parameters=chosen_parameters(spec, parameters))
    with archive.on_close:
        files = archive.on_close.enter_context(open_files(root, archive.defects))
        tables = open_tables(archive, files)
        note_leftovers(archive, files)
        streams = _table_streams(archive, tables) | _file_streams(archive, files)
        archive.streams = {stream.id: streams[stream.id] for stream in spec.streams if stream.id in streams}
        archive.checks.append(lambda opened: check_settings(opened, tables))
        archive.on_close = archive.on_close.pop_all()
    return archive


def _table_streams(archive: Archive, tables: dict[str, Tables]) -> dict[str, Stream]:
    conversions = _conversions(archive)
    made: dict[str, tuple[str, Callable[[Rows], Record]]] = {
        "imu_raw": ("gnss_imu", conversions.imu),
        "magnetic_field": ("gnss_imu", conversions.magnetic_field),
        "imu_temperature": ("gnss_imu", convert.temperature("imu_temperature")),
        "air_pressure": ("gnss_imu", convert.pressure),
        "air_temperature": ("gnss_imu", convert.temperature("air_temperature")),
        "fix": ("gnss_pose", conversions.fix),
        "device_clock": ("gnss_pose", convert.device_clock),
        "velocity": ("gnss_ned_velocity", convert.velocity),
        "acceleration": ("gnss_body_acceleration", convert.acceleration),
        "wheel_joints": ("motor_encoders", conversions.wheel_joints),
        "wheel_speeds": ("motor_encoders", convert.wheel_speeds("velocity")),
        "wheel_commands": ("motor_encoders", convert.wheel_speeds("command")),
        "platform_velocity": ("platform_velocity", conversions.platform_twist),
        "twist_estimate": ("platform_twist_estimate", conversions.platform_twist),
        "pose_estimate": ("platform_pose_estimate", convert.pose_in_map),
        "wheel_estimate": ("wheel_pose_estimate", convert.wheel_estimate),
        "main_arm": ("main_arm", convert.arm_joints("main_arm")),
        "aux_arm": ("aux_arm", convert.arm_joints("aux_arm")),
        "main_cam_pose": ("main_cam_pose", conversions.camera_pose),
        "aux_cam_pose": ("aux_cam_pose", conversions.camera_pose),
    }
    poses, velocities, rates = (
        tables[key].nearest if key in tables else None
        for key in ("gnss_pose", "gnss_body_velocity", "gnss_body_angular_velocity")
    )
    made["odometry"] = ("gnss_pose", lambda rows: conversions.odometry(rows, velocities, rates))
    if poses is not None:
        made["imu"] = ("gnss_imu", lambda rows: conversions.imu_with_attitude(rows, poses))
    return {name: TableStream(tables[key], make) for name, (key, make) in made.items() if key in tables}


def _conversions(archive: Archive) -> convert.Conversions:
    (row,) = (row for row in archive.spec.extrinsics if (row.parent, row.child) == ("origin", "base_link"))
    x, y, z = (float(value) for value in flu_from_frd(np.array(row.translation) * MM))
    return convert.Conversions(parameters=archive.parameters, constants=archive.spec.constants, base_in_ins_m=(x, y, z))


def _file_streams(archive: Archive, files: Files) -> dict[str, Stream]:
    fraction = archive.parameters["name_fraction"]
    streams: dict[str, Stream] = {}
    for key in ("main_cam", "aux_cam", "projected", "lidar"):
        names, stamp_ns = timed_files(archive, files, key, fraction=fraction)
        if not names:
            continue
        if key == "lidar":
            revolution_ns = round(archive.spec.constants["revolution_s"] * NS_PER_S)
            start_ns = stamp_ns - revolution_ns if archive.parameters["cloud_stamp"] == "end" else stamp_ns
            streams[key] = cloud_stream(files, names, start_ns, _cloud_decoder(archive))
        else:
            streams[key] = picture_stream(files, names, stamp_ns)
    return streams


def _cloud_decoder(archive: Archive) -> Callable[[bytes], NDArray[np.void]]:
    constants = archive.spec.constants
    elevations = np.array(constants["lidar_elevations_deg"])
    with_times = archive.parameters["point_time"] == "azimuth"

    @np.errstate(over="ignore", invalid="ignore")  # a damaged point may lie anywhere
    def decode(data: bytes) -> NDArray[np.void]:
        cloud = cloud_from_pcd(data)
        _require_coordinates(cloud)
        xyz = np.stack([cloud[axis].astype(np.float32) for axis in "xyz"], axis=1)
        finite = np.isfinite(xyz).all(axis=1)
        cloud, xyz = cloud[finite], xyz[finite]
        time = _times(cloud, xyz, constants["revolution_s"] if with_times else None)
        points = _points(cloud, xyz, elevations, time)
        return points if time is None else points[velodyne.time_order(time)]

    return decode


def _require_coordinates(cloud: NDArray[Any]) -> None:
    """Every field that is read must be one number for each point, x y z must be there."""
    names = cloud.dtype.names or ()
    missing = [axis for axis in "xyz" if axis not in names]
    if missing:
        raise ArchiveError(f"expected a cloud with the fields x y z, got {' '.join(names)}")
    for name in ("x", "y", "z", "ring", "time", *INTENSITY_NAMES):
        if name in names and cloud.dtype[name].shape:
            raise ArchiveError(f"expected one number for each point as {name}, got {cloud.dtype[name].shape[0]}")


def _times(cloud: NDArray[Any], xyz: NDArray[np.float32], revolution_s: float | None) -> NDArray[np.float32] | None:
    """Seconds after the first point: the cloud's own times where it has them, else from the azimuth, or none."""
    names = cloud.dtype.names or ()
    if "time" in names:
        own = cloud["time"].astype(np.float64)
        return (own - own.min(initial=np.inf)).astype(np.float32) if len(own) else own.astype(np.float32)
    return velodyne.times_from_azimuth(xyz, revolution_s) if revolution_s is not None else None


def _points(
    cloud: NDArray[Any], xyz: NDArray[np.float32], elevations: NDArray[np.float64], time: NDArray[np.float32] | None
) -> NDArray[np.void]:
    names = cloud.dtype.names or ()
    points = np.empty(len(cloud), np.dtype(POINT + ([("time", "<f4")] if time is not None else [])))
    points["x"], points["y"], points["z"] = xyz.T
    intensity = next((name for name in INTENSITY_NAMES if name in names), None)
    points["intensity"] = cloud[intensity] if intensity else 0.0
    points["ring"] = cloud["ring"] if "ring" in names else velodyne.ring_from_elevation(xyz, elevations)[0]
    if time is not None:
        points["time"] = time
    return points
