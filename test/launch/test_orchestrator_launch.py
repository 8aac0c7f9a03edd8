"""`ros2 launch` of a plan: one pipeline stands in for another whose quality falls, and what is kept is found."""

import math
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1]))  # a plain `launch_test` does not look beside its file

import pytest
from ament_index_python.packages import get_package_share_directory
from fieldplay_interfaces.msg import ProductQuery
from fieldplay_interfaces.srv import (
    FindProducts,
    ForgetProducts,
    GetProduct,
    ListPipelines,
    StoreProduct,
    SwitchPipeline,
)
from geometry_msgs.msg import Point, Pose
from std_msgs.msg import Float64

import launch_testing
import launch_testing.asserts
from fieldplay_testing.nodes.node_stage import TopicRecorder
from launch import LaunchDescription
from launch.actions import IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch_testing.actions import ReadyToTest

CHAIN = """\
name: {name}
doc: A number handed on as a quality
input_ports: [{{name: number, type: float, doc: a number, policy: each}}]
output_ports: [{{name: quality, type: float, doc: the same, product: quality}}]
implementations:
  - name: Plain
    dfns: [{{dfn_id: either, name: Either}}]
    input_connections: [{{dfpc_input: number, dfn_id: either, port: first}}]
    output_connections: [{{dfpc_output: quality, dfn_id: either, port: value}}]
"""
PLAN = """\
threads: 2
pipelines:
  first: {{dfpc: {folder}/first.yaml, inputs: [number=/rig/one], threads: 1}}
  second: {{dfpc: {folder}/first.yaml, inputs: [number=/rig/two], threads: 1}}
  third: {{dfpc: {folder}/second.yaml, inputs: [number=/rig/three], threads: 2}}
active: [first]
policies: [{{prefer: first, fallback: second, quality: 0.5, seconds: 0.6}}]
"""


@pytest.mark.launch_test
def generate_test_description() -> tuple[LaunchDescription, dict[str, Any]]:
    folder = tempfile.TemporaryDirectory(prefix="fieldplay-test-")
    path = Path(folder.name)
    for name in ("first", "second"):
        (path / f"{name}.yaml").write_text(CHAIN.format(name=name.capitalize()))
    (path / "plan.yaml").write_text(PLAN.format(folder=path))
    file = Path(get_package_share_directory("fieldplay_bringup"), "launch", "fusion.launch.py")
    arguments = {"plan": str(path / "plan.yaml"), "namespace": "rig", "products": str(path / "kept")}
    launch = IncludeLaunchDescription(PythonLaunchDescriptionSource(str(file)), launch_arguments=arguments.items())
    return LaunchDescription([launch, ReadyToTest()]), {"folder": folder}


class WhileRunning(unittest.TestCase):
    def setUp(self) -> None:
        self.listener = TopicRecorder("rig")
        self.addCleanup(self.listener.close)
        self.sender = self.listener.node.create_publisher(Float64, "/rig/one", 10)

    def test_another_stands_in_and_goes_and_what_cannot_be_is_refused(self) -> None:
        self.until(1.0, lambda states: states["first"] == "active")
        self.until(1.0, lambda states: self.listener.node.count_publishers("/rig/first/quality") > 0)
        self.assertEqual(self.states()["second"], "unconfigured")
        self.until(1.0, lambda states: self.qualities()["first"] == 1.0)
        self.assertTrue(math.isnan(self.qualities()["second"]), "of the same DFPC, with a topic of its own")
        self.until(0.2, lambda states: states["second"] == "active")
        self.assertEqual(self.states(), {"first": "active", "second": "active", "third": "unconfigured"})
        self.assertIn("third needs 2 of 2 threads, first, second have 2", self.switch("third", "activate"))
        self.assertEqual(self.switch("first", "activate"), "first is active already")
        self.assertEqual(self.switch("first", "configure"), "first is active: deactivate it before it is configured")
        self.until(0.2, lambda states: self.listener.node.count_publishers("/rig/second/quality") > 0)
        self.assertEqual(self.listener.node.count_publishers("/rig/first/quality"), 1)
        self.until(0.9, lambda states: states["second"] == "inactive")
        self.assertEqual(self.switch("second", "configure", settings=["either.GeneralParameters.PreferSecond=3"]), "")
        self.until(0.9, lambda states: states["second"] == "unconfigured")
        self.find_products()

    def find_products(self) -> None:
        """What was kept is found, given and forgotten."""
        result = self.call(FindProducts, "products/find", query=ProductQuery(kinds=["quality"], newest=3))
        self.assertTrue(result.success)
        self.assertEqual((result.count, len(result.products)), (3, 3))
        newest = result.products[-1]
        self.assertEqual(
            (newest.dfpc, newest.topics, newest.input_topics), ("First", ["/rig/first/quality"], ["/rig/one"])
        )
        parameters = self.call(GetProduct, "products/get", id=newest.id)
        self.assertEqual(
            (parameters.product.digest, len(parameters.data), list(parameters.sizes)), (newest.digest, 12, [12])
        )
        own = {"data": parameters.data, "sizes": parameters.sizes}
        parameters.product.world, parameters.product.chain_frames = "yard", ["map", newest.frame]
        parameters.product.chain_poses = [Pose(position=Point(x=1.0, y=2.0, z=3.0))]
        parameters.product.has_extent = True
        stored = self.call(StoreProduct, "products/store", product=parameters.product, **own)
        self.assertTrue(stored.success and stored.id > newest.id, stored.message)
        again = self.call(GetProduct, "products/get", id=stored.id)
        self.assertEqual((again.product.digest, again.data), (newest.digest, parameters.data))
        self.assertEqual(again.product.chain_poses, parameters.product.chain_poses)
        near = {"has_sphere": True, "radius": 0.1, "centre": Point(x=1.0, y=2.0, z=3.0)}
        in_map = self.call(FindProducts, "products/find", query=ProductQuery(frame="map", world="yard", **near))
        self.assertEqual([product.id for product in in_map.products], [stored.id], in_map.message)
        wrong = self.call(GetProduct, "products/get", id=stored.id, format="ply")
        self.assertIn("cannot be written as ply", wrong.message)
        parameters.product.types = []
        self.assertIn(
            "a type and a size", self.call(StoreProduct, "products/store", product=parameters.product).message
        )
        self.assertFalse(self.call(ForgetProducts, "products/forget").success)
        forgotten = self.call(ForgetProducts, "products/forget", query=ProductQuery(ids=[newest.id]))
        self.assertEqual((forgotten.success, forgotten.count), (True, 1))
        self.assertIn("has no product", self.call(GetProduct, "products/get", id=newest.id).message)

    def until(self, quality: float, is_so: Any) -> None:
        """Tell the first pipeline its quality, again and again, until something is so."""

        def told() -> bool:
            self.sender.publish(Float64(data=quality))
            return bool(is_so(self.states()))

        self.listener.wait_for_graph(told)

    def states(self) -> dict[str, str]:
        return {own.name: own.state for own in self.call(ListPipelines, "orchestrator/pipelines").pipelines}

    def qualities(self) -> dict[str, float]:
        return {own.name: own.quality for own in self.call(ListPipelines, "orchestrator/pipelines").pipelines}

    def switch(self, name: str, act: str, **more: Any) -> str:
        answer = self.call(SwitchPipeline, f"orchestrator/{act}", name=name, **more)
        self.assertEqual(answer.success, not answer.message)
        return str(answer.message)

    def call(self, kind: Any, name: str, /, **request: Any) -> Any:
        return self.listener.call(kind, f"/rig/{name}", **request)


@launch_testing.post_shutdown_test()
class AfterRunning(unittest.TestCase):
    def test_all_processes_end_well(self, proc_info: Any, folder: Any) -> None:
        folder.cleanup()
        launch_testing.asserts.assertExitCodes(proc_info)
