"""What the report leaves open, measured in the data: a setting that does not fit is said aloud, never changed."""

from collections.abc import Mapping

from fieldplay_archive.archive import Archive
from fieldplay_archive.readers.acfr import nav_checks as nav
from fieldplay_archive.readers.acfr import picture_checks as pictures
from fieldplay_archive.readers.acfr import scene_checks as scene
from fieldplay_archive.readers.acfr.catalogue import KnownSet, note_set
from fieldplay_archive.tables.table_streams import Tables
from fieldplay_messages.stamps import NS_PER_S

APART_S = 1.0  # by so much streams may start or end apart, and durations differ
SENSORS = ("laser_", "radar_", "nav_", "visual_camera_", "ir_camera_")  # which the report's interval is about
LATE_SETS = (5, 12)  # of which the report says that some sensors start late or end early


def add_checks(archive: Archive, tables: Mapping[str, Tables]) -> None:
    """Say which set this is, and add what is measured when somebody asks what the archive holds."""
    known = note_set(archive)
    archive.checks.append(lambda opened: check_times(opened, known))
    archive.checks.append(lambda opened: nav.check_rates(opened, tables))
    archive.checks.append(lambda opened: nav.check_jumps(opened, tables))
    archive.checks.append(lambda opened: nav.check_course(opened, tables))
    archive.checks.append(nav.check_skid_steer)
    archive.checks.append(lambda opened: scene.check_poles(opened, tables, known))
    archive.checks.append(lambda opened: scene.check_reflector(opened, tables, known))
    archive.checks.append(lambda opened: scene.check_radar_ranges(opened, tables))
    archive.checks.append(pictures.check_mosaic)
    archive.checks.append(pictures.check_black_bands)


def check_times(archive: Archive, known: KnownSet | None) -> None:
    """Note when sensors start and end apart, and the interval of all of them beside the report's."""
    times = {
        name: (min(span.first_ns for span in stream.spans), max(span.last_ns for span in stream.spans))
        for name, stream in archive.streams.items()
        if name.startswith(SENSORS) and stream.spans
    }
    if not times:
        return
    begin_ns, end_ns = min(first for first, _ in times.values()), max(last for _, last in times.values())
    late = {name: (first - begin_ns) / NS_PER_S for name, (first, _) in times.items()}
    early = {name: (end_ns - last) / NS_PER_S for name, (_, last) in times.items()}
    for what, apart in (("start after the first", late), ("end before the last", early)):
        told = [f"{name} {seconds:.3f} s" for name, seconds in apart.items() if seconds > APART_S]
        if told:
            archive.notes.append(f"measured: streams that {what}: {', '.join(told)}")
    common_ns = (max(first for first, _ in times.values()), min(last for _, last in times.values()))
    _compare_with_report(archive, common_ns, known)


def _compare_with_report(archive: Archive, common_ns: tuple[int, int], known: KnownSet | None) -> None:
    first_s, last_s = (value / NS_PER_S for value in common_ns)
    text = f"all sensors have data for {max(last_s - first_s, 0):.3f} s, from {first_s:.3f} to {last_s:.3f}"
    if known is None:
        archive.notes.append(f"measured: {text}")
        return
    beside = f"{text}; the report has {known.duration_s:.3f} s, from {known.start_s:.3f} to {known.end_s:.3f}"
    if abs(first_s - known.start_s) <= APART_S and abs(last_s - known.end_s) <= APART_S:
        archive.notes.append(f"measured: {beside}")
        return
    why = "other times"
    if known.number in LATE_SETS:
        why = "it also says that some start late or end early"
    elif first_s >= known.start_s - APART_S and last_s <= known.end_s + APART_S:
        why = "this is a part of it, or some sensors start late or end early"
    archive.notes.append(f"warning: {beside}: {why}")
