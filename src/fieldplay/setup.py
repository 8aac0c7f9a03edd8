from pathlib import Path

from setuptools import find_packages, setup

NAME = "fieldplay"
# Links among them are to descriptions of datasets that another package brings.
DATA = [
    str(path.relative_to(NAME))
    for path in sorted(Path(NAME, "data").rglob("*"))
    if path.is_file() and not path.is_symlink()
]

setup(
    name=NAME,
    version="0.1.0",
    description="The command and the library: convert, plot and evaluate archives and bags; needs no ROS.",
    license="Apache-2.0",
    packages=find_packages(exclude=["test*"]),
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{NAME}"]),
        (f"share/{NAME}", ["package.xml"]),
        ("bin", ["scripts/fieldplay"]),
    ],
    package_data={NAME: ["py.typed", "report/*.css", "report/*.html", *DATA]},
    extras_require={"test": ["pytest"]},  # so that `colcon test` runs pytest
    zip_safe=True,
)
