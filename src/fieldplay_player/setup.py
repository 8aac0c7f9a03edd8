from setuptools import find_packages, setup

NAME = "fieldplay_player"

setup(
    name=NAME,
    version="0.1.0",
    description="Plays the messages of an archive as live topics, with rosbag2's services.",
    license="Apache-2.0",
    packages=find_packages(exclude=["test"]),
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{NAME}"]),
        (f"share/{NAME}", ["package.xml"]),
    ],
    package_data={NAME: ["py.typed"]},
    entry_points={"console_scripts": ["player = fieldplay_player.node:main"]},
    extras_require={"test": ["pytest"]},  # so that `colcon test` runs pytest
    zip_safe=True,
)
