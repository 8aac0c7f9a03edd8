"""Size and shape of the code: ./ws exec python bench/structure.py.

Prints lines and modules of src (tests excluded), how many modules have one importer, how many own functions and files
take part when a row or an image goes into a bag, how many own modules are imported, and the processor time of commands.
"""

import ast
import inspect
import json
import resource
import statistics
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
SRC = ROOT / "src"
SHARED_BY_TESTS = "fieldplay_testing"
COUNTED_COMMANDS = (["--help"], ["list"], ["info", "--help"])
ROUNDS = 5
OPEN_AND_READ = """
import json, sys
import fieldplay
with fieldplay.open(sys.argv[1]) as recording:
    recording.records(sys.argv[2])
print(json.dumps(sorted(name for name in sys.modules if name.split(".")[0].startswith("fieldplay"))))
"""


def own_files() -> list[Path]:
    """The Python files of src without tests, setup files and what tests share."""
    files = (path for path in SRC.rglob("*.py") if not {"test", SHARED_BY_TESTS} & set(path.relative_to(SRC).parts))
    return sorted(path for path in files if path.name != "setup.py")


def module_name(path: Path) -> str:
    parts = path.relative_to(SRC).with_suffix("").parts[1:]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported_modules(path: Path, modules: set[str]) -> Iterator[str]:
    """The modules of ours that a file imports, once each."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
            names.add(node.module)
    yield from names & modules


def print_size() -> None:
    files = own_files()
    lines = {path: len(path.read_text().splitlines()) for path in files}
    modules = {module_name(path): path for path in files if path.name != "__init__.py"}
    importers = Counter(name for path in files for name in imported_modules(path, set(modules)))
    single = sum(importers[name] == 1 for name in modules)
    print(f"lines of src without tests: {sum(lines.values())}")
    print(f"modules: {len(modules)}, median {statistics.median(lines[path] for path in modules.values()):.0f} lines")
    print(f"modules with one importer: {single} ({100 * single / len(modules):.0f} %)")


def functions_called(task: Callable[[], object]) -> tuple[int, int]:
    """How many distinct functions of ours run during a task, and in how many files; bodies of classes are none."""
    seen: set[tuple[str, int, str]] = set()

    def note(frame: FrameType, event: str, argument: Any) -> None:
        code = frame.f_code
        if event == "call" and "fieldplay" in code.co_filename and code.co_flags & inspect.CO_OPTIMIZED:
            seen.add((code.co_filename, code.co_firstlineno, code.co_name))

    sys.setprofile(note)
    try:
        task()
    finally:
        sys.setprofile(None)
    own = {item for item in seen if not item[2].startswith("<")}
    return len(own), len({file for file, _, _ in own})


def print_paths(archive: Path, folder: Path) -> None:
    """What a row and an image run through, as `convert` is typed, each counted in a process of its own."""
    for name, topics in (("a row of GnssPose.csv", "gnss/"), ("an image", "main_cam/image")):
        arguments = ["convert", str(archive), str(folder / topics.replace("/", "_")), "--topics", topics, "--jobs", "1"]
        result = child("--count", *arguments)
        print(f"{name} into a bag: {result['functions']} functions in {result['files']} files")


def child(*arguments: str) -> dict[str, Any]:
    """The last line that a process of this file prints."""
    done = subprocess.run([sys.executable, __file__, *arguments], capture_output=True, text=True, check=True)
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def count(arguments: list[str]) -> None:
    from fieldplay.cli.main import main as command

    functions, files = functions_called(lambda: command(arguments))
    print(json.dumps({"functions": functions, "files": files}))


def cpu_s(arguments: list[str]) -> float:
    """The smallest processor time of a command of several runs."""
    figures = []
    for _ in range(ROUNDS):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(["fieldplay", *arguments], capture_output=True, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        figures.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(figures)


def main() -> None:
    print_size()
    with tempfile.TemporaryDirectory(prefix="fieldplay-bench-") as folder:
        sample = Path(folder) / "ameds"
        subprocess.run(["fieldplay", "sample", "ameds", sample, "--seconds", "2"], capture_output=True, check=True)
        (archive,) = (path.parent for path in sample.rglob("GnssPose.csv"))
        print_paths(archive, Path(folder))
        opened = [sys.executable, "-c", OPEN_AND_READ, str(archive), "imu/data_raw"]
        names = json.loads(subprocess.run(opened, capture_output=True, text=True, check=True).stdout)
        print(f"fieldplay.open and the records of one topic: {len(names)} own modules")
    for arguments in COUNTED_COMMANDS:
        print(f"fieldplay {' '.join(arguments)}: {cpu_s(arguments):.2f} s of processor time")


if __name__ == "__main__":
    count(sys.argv[2:]) if sys.argv[1:2] == ["--count"] else main()
