import pytest


def test_exit_code_and_output_of_the_executable_pass_through(ros2, demo_package):
    demo_package("lib/demo/exe", '#!/bin/sh\necho "got $*"\nexit 7\n')
    outcome = ros2("run", "demo", "exe", "a b", "--ros-args", "-p", "x:=1", "-h")
    assert outcome.code == 7
    assert outcome.out == "got a b --ros-args -p x:=1 -h\n[ros2run]: Process exited with failure 7\n"


def test_prefix_goes_before_the_executable(ros2, demo_package):
    path = demo_package("lib/demo/exe", "#!/bin/sh\n")
    assert ros2("run", "--prefix", "echo 'be fore'", "demo", "exe", "x").out == f"be fore {path} x\n"


def test_executables_are_found_in_folders_below(ros2, demo_package):
    demo_package("lib/demo/deep/exe", "#!/bin/sh\necho deep\n")
    demo_package("lib/demo/.hidden/exe", "#!/bin/sh\necho hidden\n")
    assert ros2("run", "demo", "exe").out == "deep\n"


def test_what_is_not_there_is_said(ros2, demo_package):
    demo_package("lib/demo/data", "x").chmod(0o644)
    unknown_package, invalid_name, no_executable = (
        ros2("run", "no_such_package", "exe"),
        ros2("run", "./exe", "exe"),
        ros2("run", "demo", "data"),
    )
    assert (unknown_package.code, unknown_package.err) == (1, "Package 'no_such_package' not found")
    assert (invalid_name.code, invalid_name.err) == (1, "Package './exe' not found")
    assert (no_executable.code, no_executable.err) == (1, "No executable found")


@pytest.mark.stand_in("upstream ends with a traceback")
def test_a_prefix_that_is_no_command_is_an_error(ros2, demo_package):
    demo_package("lib/demo/exe", "#!/bin/sh\n")
    outcome = ros2("run", "--prefix", "no-such-command", "demo", "exe")
    assert (outcome.code, outcome.err) == (1, "no-such-command: No such file or directory")


def test_ctrl_c_leaves_the_last_word_to_the_executable(start_ros2, demo_package):
    code = "import signal, sys\nsignal.signal(2, lambda *_: sys.exit(5))\nprint('ready', flush=True)\nsignal.pause()\n"
    demo_package("lib/demo/exe", f"#!/usr/bin/env python3\n{code}")
    command = start_ros2("run", "demo", "exe")
    assert command.read_until("ready") == "ready\n"
    command.interrupt_group()
    assert command.finish() == (5, "[ros2run]: Process exited with failure 5\n")


@pytest.mark.parametrize(
    ("handler", "code", "said"), [("lambda *_: sys.exit(6)", 6, "failure 6"), ("0", 241, "Terminated")]
)
@pytest.mark.stand_in("upstream ends without the executable")
def test_sigterm_reaches_the_executable(start_ros2, demo_package, handler, code, said):
    script = f"import signal, sys\nsignal.signal(15, {handler})\nprint('ready', flush=True)\nsignal.pause()\n"
    demo_package("lib/demo/exe", f"#!/usr/bin/env python3\n{script}")
    command = start_ros2("run", "demo", "exe")
    assert command.read_until("ready") == "ready\n"
    command.terminate()
    exit_code, out = command.finish()
    assert (exit_code, out.strip().endswith(said)) == (code, True)
