"""What the commands say of topics and services that are not there, which they need nobody else for."""

import pytest


def test_info_of_an_unknown_topic_is_an_error(ros2):
    outcome = ros2("topic", "info", "/nobody", "--spin-time", "0")
    assert (outcome.code, outcome.out, outcome.err) == (1, "", "Unknown topic '/nobody'")


@pytest.mark.parametrize("wrong", ["no_such_pkg/msg/X", "std_msgs/msg/Nope", "std_srvs/srv/Empty", "String"])
def test_echo_of_a_type_that_is_none_is_an_error(ros2, wrong):
    outcome = ros2("topic", "echo", "/nobody", wrong, "--spin-time", "0")
    assert (outcome.code, outcome.err) == (1, "The passed message type is invalid")


@pytest.mark.stand_in("upstream ends with a traceback")
def test_echo_of_what_is_no_topic_name_is_an_error(ros2):
    outcome = ros2("topic", "echo", "/not a name")
    assert outcome.code == 1
    assert outcome.err.startswith("topic name '/not a name' is invalid")


def test_hz_waits_for_the_topic_and_sigterm_ends_it(start_ros2):
    command = start_ros2("topic", "hz", "/nobody", "--spin-time", "0")
    assert command.read_until("\n") == "WARNING: topic [/nobody] does not appear to be published yet\n"
    command.terminate()
    code, rest = command.finish()
    assert (code in (15, 0), rest) == (True, "")  # upstream's is 0


@pytest.mark.stand_in("upstream's waits for ever")
def test_service_call_gives_up_after_a_while(ros2):
    outcome = ros2("service", "call", "/nobody", "std_srvs/srv/SetBool")
    assert (outcome.code, outcome.err) == (1, "service '/nobody' is not available after 5 s")


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["node", "info", "/nobody"], "Unable to find node '/nobody'"),
        (["param", "get", "/nobody", "rate"], "Node not found"),
        (["param", "list", "nobody"], "Node not found"),
        (["service", "info", "/nobody"], "Unknown service '/nobody'"),
    ],
)
def test_a_node_that_is_not_there_is_an_error(ros2, words, error):
    outcome = ros2(*words, "--spin-time", "0")
    assert (outcome.code, outcome.out) == (1, "")
    assert outcome.err.startswith(error)


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["std_msgs/msg/Nope"], "The passed message type is invalid"),
        (["std_msgs/msg/String", "{nope: 1}"], "Failed to populate field: 'String' object has no attribute 'nope'"),
    ],
)
def test_pub_says_what_is_wrong(ros2, words, error):
    outcome = ros2("topic", "pub", "/nobody", *words)
    assert (outcome.code, outcome.err) == (1, error)


def no_attribute(name):
    return f"Failed to populate field: 'SetBool_Request' object has no attribute '{name}'"


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["std_srvs/srv/Nope"], "The passed service type is invalid"),
        (["nope"], "The passed service type is invalid"),
        (["std_msgs/msg/String"], "The passed type is not a service"),
        (["std_srvs/srv/SetBool", "{nope: 1}"], no_attribute("nope")),
        (["std_srvs/SetBool", "1"], "Failed to populate field: Value '1' is expected to be a dictionary but is a int"),
    ],
)
def test_service_call_says_what_is_wrong_before_it_calls(ros2, words, error):
    outcome = ros2("service", "call", "/nobody", *words)
    assert (outcome.code, outcome.out, outcome.err) == (1, "", error)


@pytest.mark.stand_in("upstream ends with a traceback")
def test_service_call_of_broken_yaml_is_an_error(ros2):
    outcome = ros2("service", "call", "/nobody", "std_srvs/srv/SetBool", "{data: ")
    assert outcome.code == 1
    assert outcome.err.startswith("Failed to populate field: ")
