"""Nodes, parameters, types and publishing over real DDS, against a node in a thread of this process.

Every command waits for discovery, so those that can run side by side do.
"""

import threading

import pytest
import rclpy
import yaml
from geometry_msgs.msg import PointStamped
from rcl_interfaces.msg import SetParametersResult
from rclpy.context import Context
from std_msgs.msg import String
from std_srvs.srv import SetBool

COMMANDS = {
    "nodes": ("node", "list"),
    "node": ("node", "info", "/here/subject"),
    "params": ("param", "list", "/here/subject"),
    "all params": ("param", "list"),
    "get": ("param", "get", "/here/subject", "wheel.radius"),
    "get value": ("param", "get", "--hide-type", "/here/subject", "names"),
    "get none": ("param", "get", "/here/subject", "nothing"),
    "set": ("param", "set", "/here/subject", "speed", "3"),
    "set refused": ("param", "set", "/here/subject", "speed", "-3"),
    "dump": ("param", "dump", "/here/subject"),
    "service info": ("service", "info", "/switch"),
    "type": ("topic", "type", "/points"),
    "service type": ("service", "type", "/switch"),
    "pub": ("topic", "pub", "/heard", "std_msgs/msg/String", "{data: hello}", "-t", "3", "-r", "50"),
    "pub auto": (
        "topic",
        "pub",
        "/stamped",
        "geometry_msgs/msg/PointStamped",
        "{header: auto, point: {x: 2}}",
        "--once",
    ),
    "bw": ("topic", "bw", "/points"),
    "hz": ("topic", "hz", "/points", "--qos-reliability", "reliable", "--qos-depth", "20"),
}
PATIENCE_S = 120.0
ENDLESS = ("bw", "hz")
RETURNS_0 = pytest.mark.stand_in("upstream says so, and returns 0")


class Heard:
    """The messages that came, and a way to wait for them."""

    def __init__(self):
        self._messages = []
        self._changed = threading.Condition()

    def take(self, message):
        with self._changed:
            self._messages.append(message)
            self._changed.notify_all()

    def wait_for(self, kind, count):
        with self._changed:
            assert self._changed.wait_for(lambda: len(self._of(kind)) >= count, PATIENCE_S)
            return self._of(kind)

    def _of(self, kind):
        return [message for message in self._messages if isinstance(message, kind)]


def add_endpoints(node, heard):
    node.declare_parameter("wheel.radius", 0.25)
    node.declare_parameter("names", ["a", "b"])
    node.declare_parameter("speed", 1)

    def allow(parameters):
        good = all(parameter.name != "speed" or parameter.value >= 0 for parameter in parameters)
        return SetParametersResult(successful=good, reason="" if good else "too slow")

    node.add_on_set_parameters_callback(allow)
    points = node.create_publisher(PointStamped, "/points", 10)

    def publish():
        message = PointStamped()
        message.header.stamp = node.get_clock().now().to_msg()
        points.publish(message)

    node.create_timer(0.02, publish)
    node.create_subscription(String, "/heard", heard.take, 10)
    node.create_subscription(PointStamped, "/stamped", heard.take, 10)
    node.create_service(SetBool, "/switch", lambda _, response: response)


@pytest.fixture(scope="module")
def subject(spinning):
    """What the node heard."""
    context = Context()
    rclpy.init(args=[], context=context)
    node = rclpy.create_node("subject", namespace="/here", context=context)
    heard = Heard()
    add_endpoints(node, heard)
    with spinning(node):
        yield heard
    node.destroy_node()
    rclpy.shutdown(context=context)


@pytest.fixture(scope="module")
def commands(subject, start_many):
    return {name: start_many(*words) for name, words in COMMANDS.items() if name not in ENDLESS}


@pytest.fixture(scope="module")
def outcomes(commands):
    """Exit code and output of each command that ends by itself."""
    return {name: command.finish() for name, command in commands.items()}


@pytest.fixture(scope="module")
def measuring(outcomes, start_many):
    """The commands that measure without end, once all others have ended."""
    return {name: start_many(*COMMANDS[name]) for name in ENDLESS}


@pytest.mark.parametrize(
    ("name", "code", "told"),
    [
        ("get", 0, "Double value is: 0.25\n"),
        ("get value", 0, "['a', 'b']\n"),
        ("get none", 1, "Parameter not set\n"),
        ("set", 0, "Set parameter successful\n"),
        pytest.param("set refused", 1, "Setting parameter failed: too slow\n", marks=RETURNS_0),
        ("type", 0, "geometry_msgs/msg/PointStamped\n"),
        ("service type", 0, "std_srvs/srv/SetBool\n"),
        ("service info", 0, "Type: std_srvs/srv/SetBool\nClients count: 0\nServices count: 1\n"),
    ],
)
def test_an_answer_is_upstreams(outcomes, name, code, told):
    assert outcomes[name][0] == code
    assert outcomes[name][1].endswith(told)  # the middleware may have complained before


def test_nodes_are_listed(outcomes):
    code, out = outcomes["nodes"]
    assert code == 0
    assert "/here/subject" in out.splitlines()
    assert "_ros2cli" not in out


def test_a_node_is_told_with_all_it_has(outcomes):
    code, out = outcomes["node"]
    assert code == 0
    for line in (
        "/here/subject\n  Subscribers:\n    /heard: std_msgs/msg/String\n",
        "\n    /stamped: geometry_msgs/msg/PointStamped\n  Publishers:\n",
        "\n    /points: geometry_msgs/msg/PointStamped\n",
        "\n    /switch: std_srvs/srv/SetBool\n",
        "  Service Clients:\n\n  Action Servers:\n\n  Action Clients:\n\n",
    ):
        assert line in out


def test_parameters_are_listed(outcomes):
    code, out = outcomes["params"]
    assert code == 0
    assert {"  names", "  speed", "  use_sim_time", "  wheel.radius"} <= set(out.splitlines())
    assert "/here/subject:\n  names\n  s" in outcomes["all params"][1]


def test_parameters_are_dumped_as_a_file_of_parameters(outcomes):
    code, out = outcomes["dump"]
    parameters = yaml.safe_load(out[out.index("/here") :])["/here/subject"]["ros__parameters"]
    assert code == 0
    assert (parameters["wheel"], parameters["names"], parameters["use_sim_time"]) == (
        {"radius": 0.25},
        ["a", "b"],
        False,
    )


def test_what_is_published_arrives(outcomes, subject):
    code, out = outcomes["pub"]
    assert code == 0
    assert "publisher: beginning loop\npublishing #1: std_msgs.msg.String(data='hello')\n\n" in out
    assert [message.data for message in subject.wait_for(String, 3)] == ["hello"] * 3


def test_a_header_is_stamped_when_it_is_sent(outcomes, subject):
    assert outcomes["pub auto"][0] == 0
    (message,) = subject.wait_for(PointStamped, 1)
    assert (message.point.x, message.header.stamp.sec > 1_000_000_000) == (2.0, True)


def test_bandwidth_is_measured(measuring):
    text = measuring["bw"].read_until("Message size mean: ")
    assert "Message size mean: " in text, measuring["bw"].state
    rate, sizes = text.splitlines()[-2:]
    assert float(rate.split()[0]) > 0
    assert rate.split()[1] in ("B/s", "KB/s")
    assert sizes.split()[3:5] == sizes.split()[6:8]  # mean and least: all are alike


@pytest.mark.stand_in("upstream's has no such options")
def test_rate_is_measured_with_a_profile_of_ones_own(measuring):
    rate = float(measuring["hz"].read_until("average rate: ").split()[2])
    assert 0 < rate < 100  # 50 are sent in a second where the machine is not too busy
