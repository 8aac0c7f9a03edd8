"""AMEDS, the ARCHES Mount Etna dataset: a folder as unpacked, or the zip as downloaded."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from fieldplay_archive.archive import Archive, chosen_parameters, note_leftovers, open_tables
from fieldplay_archive.files.containers import Files, open_files
from fieldplay_archive.readers.ameds import rows as convert
from fieldplay_archive.readers.ameds.checks import check_settings
from fieldplay_archive.readers.ameds.clouds import CloudDecoder
from fieldplay_archive.row_files import cloud_stream, picture_stream, timed_files
from fieldplay_archive.spec import DatasetSpec
from fieldplay_archive.tables.table import Rows
from fieldplay_archive.tables.table_streams import Tables, TableStream
from fieldplay_kinematics.axes import flu_from_frd
from fieldplay_messages.records import Record
from fieldplay_messages.stamps import NS_PER_S
from fieldplay_messages.streams import Stream

MM = 1e-3
TWIST_NEEDS = "base_link is 81 mm off the INS, so its velocity takes GnssBodyVelocity and GnssBodyAngularVelocity, both"


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
    if poses is not None and (velocities is None) != (rates is None):
        archive.notes.append(f"gnss/odom has no twist: {TWIST_NEEDS}")
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
            decoder = CloudDecoder(archive, files, names)
            streams[key] = cloud_stream(files, names, start_ns, decoder)
            archive.checks.append(decoder.check)
        else:
            streams[key] = picture_stream(files, names, stamp_ns)
    return streams
