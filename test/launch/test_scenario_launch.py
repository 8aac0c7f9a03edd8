"""`ros2 launch` of the plan of a rover on SherpaTT's sample: odometry and reconstruction run, localisation is taken up.

The sample's odometry is good, so here the bound of its quality is one that none can reach. The map is that of another
run over the same way.
"""

import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1]))  # a plain `launch_test` does not look beside its file

import pytest
import yaml
from ament_index_python.packages import get_package_share_directory
from fieldplay_interfaces.srv import ListPipelines
from rosbag2_interfaces.srv import Pause, Resume

import launch_testing
import launch_testing.asserts
from fieldplay.cli.main import main
from fieldplay_cdff.orchestration.orchestration import plan_file
from fieldplay_cdff.products.product import ProductQuery
from fieldplay_cdff.products.store import ProductStore
from fieldplay_samples.write_sample import SampleOptions, write_sample
from fieldplay_testing.nodes.node_stage import TopicRecorder
from launch import LaunchDescription
from launch.actions import IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch_testing.actions import ReadyToTest

SETTINGS = {"image_rate_hz": 2.0, "image_shrink": 8, "lidar_columns": 30, "color_every": 100}
STATES = "/diagnostics"
PATIENCE_S = 90.0  # six programs begin at once
ALL = {"odometry": "VisualOdometry", "reconstruction": "Reconstruction3D", "localisation": "MapLocalisation"}


@pytest.mark.launch_test
def generate_test_description() -> tuple[LaunchDescription, dict[str, Any]]:
    folder = tempfile.TemporaryDirectory(prefix="fieldplay-test-")
    path = Path(folder.name)
    write_sample("sherpatt", path / "logs", SampleOptions(seconds=5.0, settings=SETTINGS, workers=1))
    text = ["--map", f"{path}/map.npz", "--set", "slam.Keyframes.Shift=0.05"]
    assert main(["fuse", f"{path}/logs", "VisualSlamStereo", f"{path}/way", *text]) == 0
    plan = yaml.safe_load(plan_file("sherpatt").read_text())
    plan["policies"][0] |= {"quality": 1.1, "seconds": 1.0}
    few = "featuresExtractor.GeneralParameters.MaxFeaturesNumber=300"  # so that no pair is in work for long
    plan["pipelines"]["reconstruction"]["settings"] = [few]
    (path / "plan.yaml").write_text(yaml.safe_dump(plan))
    launches = Path(get_package_share_directory("fieldplay_bringup"), "launch")
    fusion = {
        "plan": str(path / "plan.yaml"), "dataset": "sherpatt", "products": str(path / "kept"), "stats_hz": "5.0",
        "namespace": "sherpatt", "map": str(path / "map.npz"),
    }  # fmt: skip
    player = {
        "archive": str(path / "logs"), "rate": "0.25", "kinematics": "false", "namespace": "sherpatt",
        "paused": "true", "on_end": "pause",
    }  # fmt: skip
    included = [
        IncludeLaunchDescription(
            PythonLaunchDescriptionSource(str(launches / f"{name}.launch.py")), launch_arguments=arguments.items()
        )
        for name, arguments in (("fusion", fusion), ("sherpatt", player))
    ]
    return LaunchDescription([*included, ReadyToTest()]), {"folder": folder}


class WhileRunning(unittest.TestCase):
    def setUp(self) -> None:
        self.listener = TopicRecorder("sherpatt")
        self.addCleanup(self.listener.close)

    def test_all_of_it_from_beginning_to_end(self, folder: Any) -> None:
        self.listener.subscribe(STATES, "diagnostic_msgs/msg/DiagnosticArray")
        self.until(lambda result: all(result[name].state == "active" for name in ("odometry", "reconstruction")))
        self.listener.ask(Resume, "resume")
        self.until(lambda result: result["localisation"].state == "active")
        result = self.pipelines()
        self.assertEqual(result["localisation"].told, "odometry was below 1.1 for 1 s: localisation stands in")
        self.assertEqual({name for name, own in result.items() if own.state == "active"}, set(ALL))
        self.until(lambda _: {f"{name}: {dfpc}" for name, dfpc in ALL.items()} <= self.told())
        with ProductStore(Path(folder.name) / "kept") as store:
            self.until(lambda _: {product.producer.dfpc for product in store.query()} == set(ALL.values()))
            self.assertEqual(set(store.kinds), {"cloud", "pose"})
            first = next(store.query(ProductQuery(kinds=("cloud",))))
            self.assertIn("/sherpatt/reconstruction_3d/cloud", first.messages[0])
            self.assertIsNotNone(first.extent and first.pose)
        self.listener.ask(Pause, "pause")  # so that no pair is in work when all end

    def until(self, is_so: Any) -> None:
        self.listener.wait_for_graph(lambda: is_so(self.pipelines()), PATIENCE_S)

    def pipelines(self) -> dict[str, Any]:
        answer = self.listener.call(ListPipelines, "/sherpatt/orchestrator/pipelines")
        return {own.name: own for own in answer.pipelines}

    def told(self) -> set[str]:
        return {status.name for array in list(self.listener.received[STATES]) for status in array.status}


@launch_testing.post_shutdown_test()
class AfterRunning(unittest.TestCase):
    def test_all_processes_end_well(self, proc_info: Any, folder: Any) -> None:
        folder.cleanup()
        launch_testing.asserts.assertExitCodes(proc_info)
