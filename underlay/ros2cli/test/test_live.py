"""Over real DDS, against a node in a thread of this process.

Every command waits for discovery, so those that can run side by side do.
"""

import pytest
import rclpy
import yaml
from geometry_msgs.msg import TwistStamped
from rclpy.context import Context
from rclpy.qos import DurabilityPolicy, QoSProfile, qos_profile_sensor_data
from std_msgs.msg import String
from std_srvs.srv import SetBool

# A client that is interrupted leaves the service without a receiver, of which rclpy warns.
pytestmark = pytest.mark.filterwarnings("ignore:failed to send response")

SWITCH = ("/switch", "std_srvs/srv/SetBool")
COMMANDS = {
    "topics": ("topic", "list", "--no-daemon", "-t"),
    "services": ("service", "list", "-t"),
    "info": ("topic", "info", "/heard"),
    "info -v": ("topic", "info", "/alone", "-v"),
    "echo": ("topic", "echo", "/twist", "--once"),
    "echo latched": ("topic", "echo", "latched", "--once"),
    "echo timeout": ("topic", "echo", "/kept", "--timeout", "0.1"),
    "call": ("service", "call", *SWITCH, "{data: true}"),
    "hz": ("topic", "hz", "/twist"),
}


def add_endpoints(node):
    lasting = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    node.create_publisher(String, "/latched", lasting).publish(String(data="said once"))
    node.create_publisher(String, "/alone", lasting)
    node.create_publisher(String, "/kept", 10)
    node.create_publisher(String, "/_hidden", 10)
    node.create_subscription(String, "/heard", lambda _: None, 10)
    twists = node.create_publisher(TwistStamped, "/twist", qos_profile_sensor_data)
    node.create_timer(0.02, lambda: twists.publish(TwistStamped()))

    def switch(request, response):
        response.success, response.message = request.data, "done"
        return response

    node.create_service(SetBool, "/switch", switch)


@pytest.fixture(scope="module", autouse=True)
def subject(spinning):
    context = Context()
    rclpy.init(args=[], context=context)
    node = rclpy.create_node("subject", namespace="/here", context=context, start_parameter_services=False)
    add_endpoints(node)
    with spinning(node):
        yield
    node.destroy_node()
    rclpy.shutdown(context=context)


@pytest.fixture(scope="module")
def commands(subject, start_many):
    return {name: start_many(*words) for name, words in COMMANDS.items()}


@pytest.fixture(scope="module")
def outcomes(commands):
    """Exit code and output of each command that ends by itself."""
    return {name: command.finish() for name, command in commands.items() if name != "hz"}


def test_topic_list_has_every_topic_and_its_type(outcomes):
    code, out = outcomes["topics"]
    lines = out.splitlines()
    assert {
        "/heard [std_msgs/msg/String]",
        "/parameter_events [rcl_interfaces/msg/ParameterEvent]",
        "/twist [geometry_msgs/msg/TwistStamped]",
    } <= set(lines)
    assert (code, lines) == (0, sorted(lines))


def test_service_list_has_every_service_and_its_type(outcomes):
    code, out = outcomes["services"]
    assert code == 0
    assert "/switch [std_srvs/srv/SetBool]" in out.splitlines()
    assert "/_" not in out


def test_topic_info_tells_type_and_counts(outcomes):
    code, out = outcomes["info"]
    assert code == 0
    assert out == "Type: std_msgs/msg/String\nPublisher count: 0\nSubscription count: 1\n"


@pytest.mark.stand_in("upstream may not have heard of the node yet")
def test_topic_info_in_detail_tells_node_and_qos(outcomes):
    code, out = outcomes["info -v"]
    type_, publishers, publisher, subscriptions, end = out.split("\n\n")
    assert (code, type_, end) == (0, "Type: std_msgs/msg/String", "")
    assert (publishers, subscriptions) == ("Publisher count: 1", "Subscription count: 0")
    lines = publisher.splitlines()
    assert lines[:3] == ["Node name: subject", "Node namespace: /here", "Topic type: std_msgs/msg/String"]
    assert {"  Reliability: RELIABLE", "  Durability: TRANSIENT_LOCAL"} <= set(lines)


def test_topic_echo_once_is_one_document(outcomes):
    code, out = outcomes["echo"]
    document, end = out.split("---")
    assert (code, end) == (0, "\n")
    assert yaml.safe_load(document)["twist"]["linear"] == {"x": 0.0, "y": 0.0, "z": 0.0}


def test_topic_echo_gets_what_was_said_before_it_came(outcomes):
    assert outcomes["echo latched"] == (0, "data: said once\n---\n")


def test_topic_echo_ends_after_the_timeout_without_a_message(outcomes):
    assert outcomes["echo timeout"] == (0, "")


def test_service_call_shows_request_and_response(outcomes):
    code, out = outcomes["call"]
    assert code == 0
    assert out.removeprefix("waiting for service to become available...\n") == (
        "requester: making request: std_srvs.srv.SetBool_Request(data=True)\n\n"
        "response:\nstd_srvs.srv.SetBool_Response(success=True, message='done')\n\n"
    )


def test_topic_hz_measures_until_ctrl_c(commands):
    command = commands["hz"]
    rate, spread = (command.read_until(mark) for mark in ("average rate: ", "min: "))
    assert 0 < float(rate.split()[2]) < 100  # 50 are sent in a second where the machine is not too busy
    assert spread.startswith("\tmin: 0.0")
    command.interrupt_group()
    # An interrupt that nobody catches would be another code.
    assert command.finish()[0] == 2


@pytest.mark.stand_in("upstream ends with a traceback")
def test_a_reader_that_leaves_ends_the_command_quietly(first_line_of_ros2):
    assert first_line_of_ros2("topic", "echo", "/twist") == ("header:\n", "")
