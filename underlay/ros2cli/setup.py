"""Install the ros2 command, into the prefix's own bin folder."""

from setuptools import find_packages, setup

NAME = "ros2cli"

setup(
    name=NAME,
    version="0.1.0",
    packages=find_packages(exclude=["test"]),
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{NAME}"]),
        (f"share/{NAME}", ["package.xml"]),
    ],
    install_requires=["setuptools"],
    zip_safe=True,
    maintainer="fieldplay",
    maintainer_email="fieldplay@users.noreply.github.com",
    description="Stand-in for the ros2 command",
    license="Apache-2.0",
    # No setup.cfg: console scripts of a ROS package go to lib/<package> by one, and this one belongs on the PATH.
    entry_points={"console_scripts": ["ros2 = ros2cli.cli:main"]},
)
