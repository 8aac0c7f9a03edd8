"""The command `fieldplay project`: a laser's points in a camera's image."""

import argparse
from pathlib import Path

import cv2

from fieldplay.cli.arguments import add_archive, add_overwrite, open_archive, require_output_file
from fieldplay.cli.parser import CommandParser
from fieldplay.cli.terminal import note, print_line, progress_bar
from fieldplay.core.atomic_output import write_atomically
from fieldplay.core.errors import UsageError
from fieldplay.projection.frame_motion import AUTO
from fieldplay.projection.overlays import ColourScale, overlay
from fieldplay.projection.projection import OWN, TF, ProjectionRequest, caption_of, lines_of, project

SUFFIXES = (".png", ".jpg", ".jpeg")
LONGEST_S = 1e6
LARGEST_PX = 200.0
MAX_SCANS = 10_000
EPILOG = """\
LASER and CAMERA are topics (lidar/points, visual_camera/image_raw) or their names without the last part (lidar,
visual_camera). TIME is seconds from the start (12.5), a Unix time (1224050945.437) or a date and time in UTC
(2008-10-15T06:09:05.437Z). The image nearest to TIME is used, and the scan nearest to that image.

examples:
  fieldplay project etna.zip lidar main_cam 12.5 out.png
  fieldplay project 01-StaticClear-Video10fps laser_horizontal visual_camera 30 out.png --scans 4
"""


def add_arguments(parser: CommandParser) -> None:
    """ARCHIVE, LASER, CAMERA, TIME and OUT, and how the points are placed and drawn."""
    add_archive(parser)
    parser.add_argument("laser", metavar="LASER", help="topic or short name of scans or clouds")
    parser.add_argument("camera", metavar="CAMERA", help="topic or short name of images")
    parser.add_argument("time", metavar="TIME", help="seconds from the start, a Unix time, or a time in UTC")
    parser.add_argument("out", metavar="OUT", type=Path, help="the output image, .png or .jpg")
    with parser.section("projection"):
        parser.add_argument(
            "--within",
            type=float,
            default=0.5,
            metavar="S",
            help="maximum time in s from TIME to the image, and from the image to the scan",
        )
        parser.add_argument("--scans", type=int, default=1, metavar="N", help="number of scans to project")
        parser.add_argument(
            "--extrinsics",
            choices=(OWN, TF),
            default="",
            help="transform from laser to camera: the dataset's row for this pair, or the tf tree (default: the row, "
            "where there is one)",
        )
        parser.add_argument(
            "--fixed-frame",
            default=AUTO,
            metavar="FRAME",
            help="frame for motion compensation between scan and image: auto is that of the archive's true poses, "
            "else the root of tf; odom is that of the wheels; none disables it",
        )
    with parser.section("output"):
        parser.add_argument("--size", type=float, metavar="PX", help="diameter of the points (default: by image size)")
        parser.add_argument(
            "--range",
            type=float,
            nargs=2,
            metavar=("MIN", "MAX"),
            help="limits of the colour scale in m (default: by the data)",
        )
        add_overwrite(parser, "replace an existing image")


def run(chosen: argparse.Namespace) -> int:
    """A laser's points in a camera's image."""
    scale = _require_options(chosen)
    with open_archive(chosen) as data, progress_bar("projecting", "steps") as bar:
        result = project(data.archive, _request(chosen), step=bar, report=note)
        ranges_m, caption = result.ranges_m, caption_of(result)
        drawn = overlay(
            result.image.pixels, result.projection, ranges_m, scale=scale, size_px=chosen.size, caption=caption
        )
        bar(1.0, 4)
    write_atomically(chosen.out, cv2.imencode(chosen.out.suffix.lower(), drawn)[1].tobytes())
    for line in lines_of(result, str(chosen.out)):
        print_line(line)
    return 0


def _require_options(chosen: argparse.Namespace) -> ColourScale | None:
    """UsageError where an option cannot be; the scale of the colours if one is wanted."""
    require_output_file(chosen.archive, chosen.out, SUFFIXES, overwrite=chosen.overwrite)
    if not 0 <= chosen.within <= LONGEST_S:
        raise UsageError(f"--within: expected seconds, from 0 to {LONGEST_S:g}, got {chosen.within:g}")
    if not 1 <= chosen.scans <= MAX_SCANS:
        raise UsageError(f"--scans: expected 1 to {MAX_SCANS}, got {chosen.scans}")
    if chosen.size is not None and not 1 <= chosen.size <= LARGEST_PX:
        raise UsageError(f"--size: expected pixels, from 1 to {LARGEST_PX:g}, got {chosen.size:g}")
    try:
        return ColourScale(*chosen.range) if chosen.range else None
    except ValueError as error:
        raise UsageError(f"--range: {error}") from None


def _request(chosen: argparse.Namespace) -> ProjectionRequest:
    return ProjectionRequest(
        laser=chosen.laser,
        camera=chosen.camera,
        time=chosen.time,
        within_s=chosen.within,
        scans=chosen.scans,
        extrinsics=chosen.extrinsics,
        fixed_frame=chosen.fixed_frame,
    )
