"""The command launch_test: runs the launch test of one file."""

from __future__ import annotations

import argparse
import importlib.util
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

from .junitxml import unittestResultsToXml
from .loader import LoadTestsFromPythonModule
from .print_arguments import print_arguments_of_launch_description
from .test_runner import LaunchTestRunner


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of launch_test."""
    parser.add_argument("launch_test_file", help="file with a generate_test_description function and tests")
    parser.add_argument("--package-name", help="package of the test, as reported (default: the file's name)")
    parser.add_argument("-v", "--verbose", action="store_true", help="let launch tell what it does")
    parser.add_argument(
        "-s", "--show-args", "--show-arguments", action="store_true", help="list the launch arguments and run nothing"
    )
    parser.add_argument("launch_arguments", nargs="*", help="launch arguments in the form name:=value")
    parser.add_argument("--junit-xml", dest="xmlpath", metavar="FILE", help="write the results to FILE, in JUnit's XML")


def run(
    parser: argparse.ArgumentParser,
    args: argparse.Namespace,
    test_runner_cls: type[LaunchTestRunner] = LaunchTestRunner,
) -> int:
    """Run what the arguments ask for; return 0 if all tests passed, else 1."""
    path = Path(args.launch_test_file)
    if not path.is_file():
        parser.error(f"test file {args.launch_test_file!r} does not exist")
    package = args.package_name or path.stem
    module = _load_python_file_as_module(package, path)
    if not hasattr(module, "generate_test_description"):
        parser.error(f"test file {args.launch_test_file!r} has no generate_test_description function")
    runs = LoadTestsFromPythonModule(module, name=f"{package}.{path.stem}.launch_tests")
    runner = test_runner_cls(runs, args.launch_arguments, debug=args.verbose)
    runner.validate()
    if args.show_args:
        print_arguments_of_launch_description(launch_description=runs[0].get_launch_description())
        return 0
    results = runner.run()
    if args.xmlpath:
        named = {str(test_run): result for test_run, result in results.items()}
        document = unittestResultsToXml(name=f"{package}.{path.stem}", test_results=named)
        document.write(args.xmlpath, encoding="utf-8", xml_declaration=True)
    return 0 if all(result.wasSuccessful() for result in results.values()) else 1


def main(argv: Sequence[str] | None = None) -> int:
    """Run launch_test; return 2 where the test could not be run at all."""
    parser = argparse.ArgumentParser(prog="launch_test", description="Run the launch test of a file.")
    add_arguments(parser)
    # Intermixed: options may stand between the file and the launch arguments.
    args = parser.parse_intermixed_args(argv)
    try:
        return run(parser, args)
    except Exception as error:  # noqa: BLE001 - whatever a test file raises, launch_test reports
        traceback.print_exc()
        parser.error(str(error))


def _load_python_file_as_module(name: str, path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


if __name__ == "__main__":
    sys.exit(main())
