"""Installs tf2_ros for colcon."""

from setuptools import setup

NAME = "tf2_ros_py"

setup(
    name=NAME,
    version="0.1.0",
    packages=["tf2_ros"],
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{NAME}"]),
        (f"share/{NAME}", ["package.xml"]),
    ],
    install_requires=["setuptools"],
    zip_safe=True,
    maintainer="fieldplay",
    maintainer_email="fieldplay@users.noreply.github.com",
    description="Stand-in for tf2_ros_py: transform buffer, listener and broadcasters.",
    license="Apache-2.0",
)
