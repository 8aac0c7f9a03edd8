"""The demo's page: the pictures of the sample with figures against the truth, then the report of its bag."""

from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np

from fieldplay.core.progress import Progress
from fieldplay.recording.bag_source import BagSource
from fieldplay.report.html.markup import Html, element, joined
from fieldplay.report.html.page import Section, cards, page_of_sections, plain_table
from fieldplay.report.html.pictures import fitted, photo
from fieldplay.report.output import write_page
from fieldplay.report.page import head_of, recorded, sections_of
from fieldplay_bringup.demo.drive import drive_of_bag, errors_m, length_m
from fieldplay_bringup.demo.plots import Height, draw_errors, draw_map, draw_wheels
from fieldplay_bringup.demo.received import Heard
from fieldplay_bringup.demo.views import BagViews

TITLE = "ESA's rover Interact on a synthetic Etna"
WIDEST = 1100
CAPTIONS = {
    "map.png": "The drive on its ground: the truth, what the INS measured, what the wheels tell.",
    "errors.png": "How far the INS and the wheels' odometry are from the truth, on the level.",
    "wheels.png": "Steering, driving angle and rim speed of each wheel: measured, and needed for the body's motion.",
    "clouds.png": "All sweeps of the lidar in map, from above, coloured by height; the way of the lidar in orange.",
    "main_cam.png": "The main camera with the frames that it sees, from the arms' joints and the paper's tables.",
    "aux_cam.png": "The auxiliary camera, at the end of the front arm.",
}

Figures = list[tuple[str, str]]


def write_images(folder: Path, bag: Path, truth: Path, height_m: Height, progress: Progress) -> tuple[Path, Figures]:
    """Draw everything into a folder; the page, and what was measured: names with values."""
    drive = drive_of_bag(bag, truth)
    ins_m, wheels_m = errors_m(drive.ins, drive.truth, 2), errors_m(drive.wheels, drive.truth, 2)
    draw_map(drive, height_m, folder / "map.png")
    draw_errors(drive, ins_m, wheels_m, folder / "errors.png")
    draw_wheels(drive, folder / "wheels.png")
    overview, panels = recorded(BagSource(bag), progress)
    with BagViews(bag, overview.frames) as views:
        views.draw_clouds("lidar/points", folder / "clouds.png")
        for camera in ("main_cam", "aux_cam"):
            views.draw_camera(camera, folder / f"{camera}.png")
    way_m = length_m(drive.truth.rows)
    figures = [
        ("the way driven", f"{way_m:.2f} m"),
        ("gnss/odom from the truth, median", f"{np.median(ins_m) * 100:.1f} cm"),
        ("gnss/odom from the truth, at most", f"{ins_m.max() * 100:.1f} cm"),
        (
            "wheels/odom from the truth, at the end",
            f"{wheels_m[-1] * 100:.1f} cm ({wheels_m[-1] / way_m:.1%})",
        ),
    ]
    sections = [_pictures(folder, figures), *sections_of(overview, panels)]
    overview.subject = replace(overview.subject, title=TITLE, name="the demo")
    page = folder / "index.html"
    write_page(page, page_of_sections("The demo · fieldplay", head_of(overview), sections))
    return page, figures


def _pictures(folder: Path, figures: Figures) -> Section:
    table = plain_table(("against the truth", "measured"), figures)
    shown = [_figure(folder / name, caption) for name, caption in CAPTIONS.items()]
    lead = "A sample of AMEDS from a synthetic world, whose truth is known. All is drawn from the bag."
    return Section("demo", "The sample beside its truth", joined([table, cards(shown, "wide")]), lead)


def _figure(path: Path, caption: str) -> Html:
    pixels = cv2.imread(str(path))
    if pixels is None:
        raise ValueError(f"{path}: expected a picture, got none that can be read")
    picture = photo(fitted(np.asarray(pixels, np.uint8), WIDEST), alternative=caption)
    return element(
        "figure", element("figcaption", element("b", caption)), element("div", picture, class_="photo"), class_="card"
    )


def heard_lines(heard: dict[str, Heard]) -> str:
    """What was heard, in one line."""
    count = sum(len(one.digests) for one in heard.values())
    return f"{count} messages on {len(heard)} topics"
