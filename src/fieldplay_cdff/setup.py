from setuptools import find_packages, setup

NAME = "fieldplay_cdff"

setup(
    name=NAME,
    version="0.1.0",
    description="The Common Data Fusion Framework: logs, processing steps, pipelines, products; knows no ROS.",
    license="Apache-2.0",
    packages=find_packages(exclude=["test*"]),
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{NAME}"]),
        (f"share/{NAME}", ["package.xml"]),
    ],
    package_data={NAME: ["py.typed", "descriptors/*.yaml", "steps/*.yaml", "datasets/*/*.yaml"]},
    entry_points={
        "fieldplay.commands": ["cdff = fieldplay_cdff.cli:COMMANDS"],
        "fieldplay.lists": ["cdff = fieldplay_cdff.cli.pipeline_list:lines"],
        "fieldplay.datasets": ["sherpatt = fieldplay_cdff.datasets.sherpatt"],
    },
    extras_require={"test": ["pytest"]},  # so that `colcon test` runs pytest
    zip_safe=True,
)
