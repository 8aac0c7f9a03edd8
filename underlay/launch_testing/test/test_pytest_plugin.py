"""Launch test files as items of pytest, in a pytest of its own."""

import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET

import pytest

BEGIN = """
import sys
import unittest

import launch
import launch.actions
import launch_testing
import launch_testing.actions
import launch_testing.asserts
import launch_testing.markers
import launch_testing.util
import pytest

"""

DESCRIPTION = """
@pytest.mark.launch_test
@launch_testing.markers.keep_alive
def generate_test_description():
    child = launch.actions.ExecuteProcess(cmd=[sys.executable, "-c", "print('hello')"])
    return launch.LaunchDescription([child, launch_testing.actions.ReadyToTest()]), {"child": child}

"""

FILES = {
    "test_good.py": BEGIN
    + DESCRIPTION
    + """
class TestChild(unittest.TestCase):
    def test_says_hello(self, proc_output, child):
        proc_output.assertWaitFor("hello", child, stream="stdout")
""",
    "test_bad.py": BEGIN
    + DESCRIPTION
    + """
class TestChild(unittest.TestCase):
    def test_passes(self, proc_info, child):
        proc_info.assertWaitForShutdown(child)

    def test_number(self):
        four = 2 + 2
        assert four == 5, "arithmetic holds"

@launch_testing.post_shutdown_test()
class TestChildEnd(unittest.TestCase):
    def test_code(self, proc_info, child):
        launch_testing.asserts.assertExitCodes(proc_info, [9], child)
""",
    "test_dying.py": BEGIN
    + """
@pytest.mark.launch_test
def generate_test_description():
    child = launch.actions.ExecuteProcess(cmd=[sys.executable, "-c", "raise SystemExit(6)"], name="fragile")
    return launch.LaunchDescription([child, launch_testing.actions.ReadyToTest()])

class TestChild(unittest.TestCase):
    def test_waits(self, proc_output):
        proc_output.assertWaitFor("never", timeout=600)
""",
    "test_skipped.py": BEGIN
    + """
@unittest.skip("no hardware")
def generate_test_description():
    raise AssertionError
generate_test_description = pytest.mark.launch_test(generate_test_description)

class TestChild(unittest.TestCase):
    def test_never(self):
        pass
""",
    "test_unmarked.py": """
def generate_test_description():
    raise AssertionError("nobody calls this")

def test_ordinary():
    pass
""",
}


def run_pytest(folder, *arguments):
    """Run pytest with this plugin and no other, whether or not the plugin is installed."""
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    environment.pop("PYTEST_ADDOPTS", None)
    plugins = ("-p", "launch_testing.pytest.hooks", "-p", "no:cacheprovider")
    options = ("--strict-markers", "--import-mode=importlib")
    return subprocess.run(
        [sys.executable, "-m", "pytest", *plugins, *options, *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.fixture(scope="module")
def outcome(tmp_path_factory):
    """Return the cases of one pytest run over all files, by file, and what it wrote."""
    folder = tmp_path_factory.mktemp("launch_tests")
    for name, text in FILES.items():
        (folder / name).write_text(text)
    done = run_pytest(folder, "--junit-xml=report.xml", "--rootdir=.", "--continue-on-collection-errors")
    assert done.returncode == 1, done.stdout + done.stderr
    cases = {}
    for case in ET.parse(folder / "report.xml").iter("testcase"):
        cases.setdefault((case.get("classname") or case.get("name")).rpartition(".")[2], []).append(case)
    return cases, done.stdout


def only(outcome, name):
    (case,) = outcome[0][name]
    return case


def text_of(case):
    return "".join(case.itertext())


def test_a_file_is_one_item_and_its_classes_are_none(outcome):
    case = only(outcome, "test_good")
    assert case.get("name") == "test_good"
    assert [child.tag for child in case if child.tag != "system-out"] == []


def test_a_failure_tells_each_failed_test_and_its_text(outcome):
    text = text_of(only(outcome, "test_bad").find("failure"))
    assert re.search(r"FAIL: (\S+\.)?test_number", text)
    assert "arithmetic holds" in text
    assert re.search(r"FAIL: (\S+\.)?test_code", text)
    assert "exited with code 0" in text
    assert "test_passes" not in text
    assert "assert 4 == 5" in text


@pytest.mark.stand_in("upstream says less of why a launch has failed")
def test_a_launch_that_dies_names_the_process(outcome):
    text = text_of(only(outcome, "test_dying").find("failure"))
    assert re.search(r"fragile-\d+ exited with code 6", text)


@pytest.mark.stand_in("upstream's item passes")
def test_skipping_the_description_skips_the_item(outcome):
    assert only(outcome, "test_skipped").find("skipped").get("message") == "no hardware"


def test_files_without_the_mark_are_ordinary_modules(outcome):
    assert only(outcome, "test_unmarked").get("name") == "test_ordinary"


@pytest.mark.stand_in("upstream ends the whole run")
def test_a_launch_test_that_cannot_be_imported_is_an_error_of_its_file(tmp_path):
    (tmp_path / "test_launch.py").write_text("import no_such_module\n" + FILES["test_good.py"])
    (tmp_path / "test_other.py").write_text("def test_other(): pass\n")
    done = run_pytest(tmp_path, "--rootdir=.", "--continue-on-collection-errors")
    assert "ERROR test_launch.py" in done.stdout
    assert "no_such_module" in done.stdout
    assert "1 passed" in done.stdout
