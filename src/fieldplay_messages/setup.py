from pathlib import Path

from setuptools import find_packages, setup

NAME = "fieldplay_messages"
DESCRIPTIONS = [str(path.relative_to(NAME)) for path in sorted(Path(NAME, "installed").rglob("*")) if path.is_file()]

setup(
    name=NAME,
    version="0.1.0",
    description="Records of columns, the messages that they become, and the bags that hold these; knows no ROS.",
    license="Apache-2.0",
    packages=find_packages(exclude=["test"]),
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{NAME}"]),
        (f"share/{NAME}", ["package.xml"]),
    ],
    package_data={NAME: ["py.typed", *DESCRIPTIONS]},
    extras_require={"test": ["pytest"]},  # so that `colcon test` runs pytest
    zip_safe=True,
)
