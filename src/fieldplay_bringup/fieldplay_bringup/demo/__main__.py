"""`./ws demo`: a sample archive, live topics, a bag, images, and what to type next."""

import argparse
import os
import random
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from fieldplay.cli.terminal import progress_bar
from fieldplay.datasets.registry import open_dataset
from fieldplay_bringup.demo import steps
from fieldplay_bringup.demo.demo_page import received_text, write_images
from fieldplay_bringup.demo.steps import LaunchFailed
from fieldplay_samples.world.terrain import terrain_named

SECONDS, SEED = 20.0, 1
LOCALHOST = "LOCALHOST"
LAST_DOMAIN = 101  # beyond it Linux may give the ports to any program

NEXT = """
What next:
  {page}     open it in a browser
  ./ws exec ros2 launch fieldplay_bringup ameds.launch.py archive:={archive} rviz:=true
  open {bag} in Foxglove, or: ros2 bag play {bag}
  ./ws exec fieldplay info YOUR_ARCHIVE      your own download, a folder or a zip
  ./ws exec fieldplay list                   the other datasets
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the demo; return 0 only if everything was received as in the bag."""
    parser = argparse.ArgumentParser(prog="./ws demo", description=__doc__)
    parser.add_argument("--seconds", type=float, default=SECONDS, help="how long the sample is")
    parser.add_argument("--out", type=Path, default=Path("bags/demo"), help="where the bag and the images are written")
    parser.add_argument("--rate", type=float, default=1.0, help="how many times faster than it was it plays")
    chosen = parser.parse_args(arguments)
    os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = LOCALHOST
    os.environ.setdefault("ROS_DOMAIN_ID", str(random.randint(1, LAST_DOMAIN)))
    try:
        return _run(chosen.out, chosen.seconds, chosen.rate)
    except (LaunchFailed, TimeoutError) as error:
        sys.stderr.write(f"demo: {error}\n")
    except KeyboardInterrupt:
        sys.stderr.write("\ndemo: interrupted\n")
    return 1


def _run(out: Path, seconds: float, rate: float) -> int:
    start = time.monotonic()
    out.mkdir(parents=True, exist_ok=True)
    archive, bag = out.parent / "ameds_sample", out / "bag"
    _print_step(1, f"a sample of AMEDS, {seconds:g} s of a synthetic drive on Mount Etna: {archive}")
    sample = steps.sample(archive, seconds, SEED)
    with open_dataset(sample.path) as opened:
        topics = steps.topics_of(opened)
    domain = os.environ["ROS_DOMAIN_ID"]
    _print_step(2, f"ros2 launch with kinematics, {len(topics.types)} topics (look in with ROS_DOMAIN_ID={domain})")
    received = steps.receive_live(sample.path, topics, out / "launch.log", rate=rate)
    _print_step(3, f"the same archive as a bag: {bag}")
    written = steps.convert_sample(sample.path, bag)
    differences = steps.compare(received, written, topics)
    _print_step(4, f"images and a page: {out / 'index.html'}")
    with progress_bar("drawing", "messages") as bar:
        page, figures = write_images(out, bag, sample.truth, terrain_named("volcano", seed=SEED).height_m, bar)
    for name, value in figures:
        sys.stdout.write(f"  {name}: {value}\n")
    for line in differences:
        sys.stderr.write(f"demo: {line}\n")
    if differences:
        return 1
    sys.stdout.write(f"\nReceived live as in the bag: {received_text(received)}, the player's byte for byte, ")
    sys.stdout.write(f"the nodes' by number; {time.monotonic() - start:.0f} s altogether.\n")
    sys.stdout.write(NEXT.format(page=page, archive=sample.path, bag=bag))
    return 0


def _print_step(step: int, text: str) -> None:
    sys.stdout.write(f"\n[{step}/4] {text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
