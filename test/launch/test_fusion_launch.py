"""`ros2 launch` of a pipeline on live topics: what comes out is what `fieldplay fuse` writes of the same messages."""

import sys
import tempfile
import unittest
from dataclasses import replace
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1]))  # a plain `launch_test` does not look beside its file

import pytest
from ament_index_python.packages import get_package_share_directory
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState, GetState
from sensor_msgs.msg import CameraInfo, Image

import fieldplay
import launch_testing
import launch_testing.asserts
from fieldplay.cli.main import main
from fieldplay_cdff.products.store import ProductStore
from fieldplay_testing.nodes.node_stage import TopicRecorder
from launch import LaunchDescription
from launch.actions import IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch_testing.actions import ReadyToTest
from support.stereo_bags import (
    CHAIN,
    SETTINGS,
    STAMPS_NS,
    pair,
    write_bag,
)

CLOUD, STATES = "/rig/wall/cloud", "/diagnostics"
KINDS = {"image_raw": Image, "camera_info": CameraInfo}


@pytest.mark.launch_test
def generate_test_description() -> tuple[LaunchDescription, dict[str, Any]]:
    folder = tempfile.TemporaryDirectory(prefix="fieldplay-test-")
    chain = Path(folder.name) / "wall.yaml"
    chain.write_text(CHAIN.replace("doc: cloud}", "doc: cloud, product: cloud}"))
    bag, out = write_bag(Path(folder.name) / "bag", [pair(row) for row in range(4)]), Path(folder.name) / "out"
    text = [word for setting in SETTINGS for word in ("--set", setting)]
    assert main(["fuse", str(bag), str(chain), str(out), *text, "--products", str(out.parent / "kept")]) == 0
    file = Path(get_package_share_directory("fieldplay_bringup"), "launch", "fusion.launch.py")
    arguments = {
        "dfpc": str(chain), "namespace": "rig", "settings": ",".join(SETTINGS), "queue": "10", "stats_hz": "5.0",
        "products": str(out.parent / "live"), "inputs": "leftImage=/cam/left/image_raw,rightImage=/cam/right/image_raw",
    }  # fmt: skip
    launch = IncludeLaunchDescription(PythonLaunchDescriptionSource(str(file)), launch_arguments=arguments.items())
    return LaunchDescription([launch, ReadyToTest()]), {"folder": folder}


class WhileRunning(unittest.TestCase):
    def setUp(self) -> None:
        self.listener = TopicRecorder("rig")
        self.addCleanup(self.listener.close)

    def test_live_topics_give_what_command_writes_of_their_bag(self, folder: Any) -> None:
        with fieldplay.open(Path(folder.name) / "out") as written:
            expected = {stamp_ns: points.tobytes() for stamp_ns, points in written.clouds("wall/cloud")}
        self.assertEqual(sorted(expected), STAMPS_NS)
        self.listener.subscribe(CLOUD, "sensor_msgs/msg/PointCloud2")
        self.listener.subscribe(STATES, "diagnostic_msgs/msg/DiagnosticArray")
        self.send(Path(folder.name) / "bag")
        self.listener.wait(lambda: self.listener.count(CLOUD) >= 4, lambda: self.listener.count(CLOUD))
        received = {m.header.stamp.sec * 10**9 + m.header.stamp.nanosec: m for m in self.listener.received[CLOUD]}
        self.assertEqual({stamp_ns: bytes(message.data) for stamp_ns, message in received.items()}, expected)
        self.assertEqual({message.header.frame_id for message in received.values()}, {"wall/scene"})
        self.listener.wait(lambda: self.told().get("stereo", "").startswith("4 calls"), self.told)
        output = self.told()
        self.assertEqual(output["given rightImage"], "4")
        self.assertTrue(output["stereo"].startswith("4 calls, 0 failures, wall mean 0."))
        self.assertRegex(output["stereo"], r"CPU mean \d+\.\d+ p50 .* p95 .* max .* s, pointcloud \d+\.\d MB$")
        self.assertRegex(output["age pointCloud"], r"^mean \d+\.\d+ p50 .* p95 .* max .* s$")
        self.assertEqual((output["accepted"], output["failing"], output["stopped"]), ("0", "", ""))
        self.compare_products(Path(folder.name))
        self.go_through_the_life_cycle()

    def compare_products(self, folder: Path) -> None:
        """What is kept live is what the command keeps, but for the time at which it was."""
        with ProductStore(folder / "kept") as remaining, ProductStore(folder / "live") as live:
            self.listener.wait_for_graph(lambda: live.count() == 4)
            for one, other in zip(remaining.query(), live.query(), strict=True):
                self.assertEqual((one.messages[0][0], other.messages[0][0]), ("/wall/cloud", CLOUD))
                self.assertEqual(replace(one, stored_ns=0, messages=()), replace(other, stored_ns=0, messages=()))
                self.assertEqual(remaining.messages(one.id)[0].data, live.messages(other.id)[0].data)

    def go_through_the_life_cycle(self) -> None:
        """What the state does not allow is refused, and the node goes on."""
        self.assertEqual(self.state(), "active")
        for transition in ("configure", "activate", "cleanup", "no_such_thing"):
            self.assertFalse(self.change(transition), transition)
        for transition, state in (("deactivate", "inactive"), ("activate", "active"), ("deactivate", "inactive"),
                                  ("cleanup", "unconfigured"), ("configure", "inactive")):  # fmt: skip
            self.assertTrue(self.change(transition), transition)
            self.assertEqual(self.state(), state)

    def change(self, transition: str) -> bool:
        return bool(self.ask(ChangeState, "change_state", transition=Transition(label=transition)).success)

    def state(self) -> str:
        return str(self.ask(GetState, "get_state").current_state.label)

    def ask(self, kind: Any, name: str, **request: Any) -> Any:
        return self.listener.call(kind, f"/rig/pipeline/{name}", **request)

    def send(self, bag: Path) -> None:
        """All messages of a bag, once the pipeline hears their topics and is heard; cameras before pictures."""
        with fieldplay.open(bag) as data:
            messages = sorted(data.messages(), key=lambda message: (message.type.endswith("Image"), message.stamp_ns))
        node = self.listener.node
        senders = {
            topic: node.create_publisher(KINDS[topic.rpartition("/")[2]], topic, 10)
            for topic in {message.topic for message in messages}
        }
        self.listener.wait_for_graph(
            lambda: all(sender.get_subscription_count() for sender in senders.values()) and node.count_publishers(CLOUD)
        )
        for message in messages:
            if message.type.endswith("Image"):  # who hears the states, which come once the cameras are known, hears all
                self.listener.wait(lambda: self.listener.count(STATES) > 0, lambda: "the pipeline tells nothing")
            senders[message.topic].publish(message.data)

    def told(self) -> dict[str, str]:
        """What the pipeline last said of itself."""
        arrays = self.listener.received[STATES]
        return {pair.key: pair.value for pair in arrays[-1].status[0].values} if arrays else {}


@launch_testing.post_shutdown_test()
class AfterRunning(unittest.TestCase):
    def test_all_processes_end_well(self, proc_info: Any, folder: Any) -> None:
        folder.cleanup()
        launch_testing.asserts.assertExitCodes(proc_info)
