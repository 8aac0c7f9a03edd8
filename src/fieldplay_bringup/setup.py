from pathlib import Path

from setuptools import find_packages, setup

NAME = "fieldplay_bringup"
FOLDERS = ("config", "launch", "urdf")  # two are links to those of fieldplay


def files_to_install() -> list[tuple[str, list[str]]]:
    """Every file of the folders, to the same place below share/."""
    files = [path for folder in FOLDERS for path in sorted(Path(folder).rglob("*")) if path.is_file()]
    return [(f"share/{NAME}/{path.parent}", [str(path)]) for path in files if "__pycache__" not in path.parts]


setup(
    name=NAME,
    version="0.1.0",
    description="Launch files, descriptions of the datasets and robot models.",
    license="Apache-2.0",
    packages=find_packages(exclude=["test"]),
    package_data={NAME: ["py.typed"]},
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{NAME}"]),
        (f"share/{NAME}", ["package.xml"]),
        *files_to_install(),
    ],
    extras_require={"test": ["pytest"]},  # so that `colcon test` runs pytest
    zip_safe=True,
)
