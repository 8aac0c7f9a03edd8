"""The command launch_test: runs the launch test of one file."""

from __future__ import annotations

import argparse
import importlib.util
import sys
import traceback
import unittest
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

from .loader import LoadTestsFromPythonModule
from .test_runner import LaunchTestRunner


def main(argv: Sequence[str] | None = None) -> int:
    """Run launch_test; return 0 if all tests passed, 1 if not, 2 where the test could not be run at all."""
    parser = argparse.ArgumentParser(prog="launch_test", description="Run the launch test of a file.")
    parser.add_argument("launch_test_file", help="file with a generate_test_description function and tests")
    parser.add_argument("-v", "--verbose", action="store_true", help="let launch log what it does")
    parser.add_argument("launch_arguments", nargs="*", help="launch arguments in the form name:=value")
    # Intermixed: options may stand between the file and the launch arguments.
    args = parser.parse_intermixed_args(argv)
    path = Path(args.launch_test_file)
    if not path.is_file():
        parser.error(f"test file {args.launch_test_file!r} does not exist")
    try:
        module = _load_python_file_as_module(path.stem, path)
        if not hasattr(module, "generate_test_description"):
            parser.error(f"test file {args.launch_test_file!r} has no generate_test_description function")
        runs = LoadTestsFromPythonModule(module, name=f"{path.stem}.launch_tests")
        (result,) = LaunchTestRunner(runs, args.launch_arguments, debug=args.verbose).run().values()
    except unittest.SkipTest as skip:
        sys.stderr.write(f"skipped: {skip}\n")
        return 0
    except Exception as error:  # noqa: BLE001 - whatever a test file raises, launch_test reports
        traceback.print_exc()
        parser.error(str(error))
    return 0 if result.wasSuccessful() else 1


def _load_python_file_as_module(name: str, path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


if __name__ == "__main__":
    sys.exit(main())
