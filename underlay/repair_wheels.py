"""Makes the ROS 2 wheels of this virtual environment fit to build on.

The CMake files in the wheels name two include folders of the machine that built them: CPython's and NumPy's.
This rewrites them to the environment's own. Run by `./ws setup` with the environment's Python, after pip.
"""

import re
import sys
import sysconfig
from pathlib import Path

import numpy

BUILDER = "/opt/python/"
NUMPY_INCLUDE = re.compile(rf'{BUILDER}[^;"]*/numpy/_core/include(?=[;"])')
PYTHON_INCLUDE = re.compile(rf'{BUILDER}[^;"]*/include/python3\.\d+(?=[;"])')


def repair(text: str, python_include: str, numpy_include: str) -> str:
    """The text of a CMake file with the builder's include folders replaced."""
    text = NUMPY_INCLUDE.sub(lambda _: numpy_include, text)
    return PYTHON_INCLUDE.sub(lambda _: python_include, text)


def main() -> None:
    """Rewrite every CMake file of the environment that needs it, and fail if one still names the builder."""
    for path in sorted(Path(sys.prefix, "share").glob("*/cmake/*.cmake")):
        text = path.read_text()
        if BUILDER not in text:
            continue
        text = repair(text, sysconfig.get_paths()["include"], numpy.get_include())
        if BUILDER in text:
            raise SystemExit(f"{path}: names {BUILDER} in a way this script does not know")
        path.write_text(text)


if __name__ == "__main__":
    main()
