"""Installs sensor_msgs_py for colcon."""

from setuptools import setup

NAME = "sensor_msgs_py"

setup(
    name=NAME,
    version="0.1.0",
    packages=[NAME],
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{NAME}"]),
        (f"share/{NAME}", ["package.xml"]),
    ],
    install_requires=["setuptools"],
    zip_safe=True,
    maintainer="fieldplay",
    maintainer_email="fieldplay@users.noreply.github.com",
    description="Stand-in for sensor_msgs_py: point clouds to and from numpy.",
    license="Apache-2.0",
)
