"""What is said of a projection: on the command line, and in the picture."""

from collections.abc import Iterator

from fieldplay.projection.moments import distance_text, time_text
from fieldplay.projection.projection import OWN, Projected
from fieldplay_messages.stamps import NS_PER_S


def lines_of(found: Projected, out: str) -> Iterator[str]:
    """The points, the stamps and how far apart they are, and by what the points were placed."""
    laser, camera = found.laser.spec.topic, found.camera.spec.topic
    shown, points = int(found.projection.is_visible.sum()), len(found.projection.is_visible)
    yield f"{out}: {shown} of {points} points of {laser} in {camera}"
    stamp_ns = found.picture.stamp_ns
    begin = f"{(stamp_ns - found.begin_ns) / NS_PER_S:.6f} s"
    yield f"  picture  {time_text(stamp_ns)}, {begin}, {distance_text(stamp_ns, found.wanted_ns, 'the time asked for')}"
    nearest = min(found.scans, key=lambda scan: abs(scan.stamp_ns - stamp_ns))
    yield f"  scan     {time_text(nearest.stamp_ns)}, {distance_text(nearest.stamp_ns, stamp_ns, 'the picture')}"
    if len(found.scans) > 1:
        ends = (distance_text(found.scans[place].stamp_ns, stamp_ns, "it") for place in (0, -1))
        yield f"           with {len(found.scans) - 1} more, from {' to '.join(ends)}"
    yield f"  placed   {_placed(found)}"


def _placed(found: Projected) -> str:
    laser, camera = found.laser.spec.frame, found.camera.spec.frame
    own, tf = f"by the dataset's own row for {laser} in {camera}", f"by tf from {laser} to {camera}"
    way = own if found.extrinsics == OWN else tf
    if not found.motion.frame:
        return f"{way}; motion between scan and picture is left out"
    return f"{way}; motion of up to {found.motion.moved_m:.3f} m in {found.motion.frame} is made up for"


def caption_of(found: Projected) -> str:
    """A line in the picture, without signs that its letters lack."""
    stamp_ns = found.picture.stamp_ns
    nearest = min((scan.stamp_ns - stamp_ns for scan in found.scans), key=abs) / NS_PER_S
    scans = f"{len(found.scans)} scans" if len(found.scans) > 1 else "scan"
    seconds = (stamp_ns - found.begin_ns) / NS_PER_S
    return f"{found.laser.spec.frame} in {found.camera.spec.frame}, {seconds:.3f} s, {scans} {nearest * 1e3:+.0f} ms"
