"""Installs tf2_ros for colcon."""

from setuptools import setup

NAME = "tf2_ros"

setup(
    name=NAME,
    version="0.1.0",
    packages=["tf2_ros_programs"],
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{NAME}"]),
        (f"share/{NAME}", ["package.xml"]),
    ],
    install_requires=["setuptools"],
    zip_safe=True,
    maintainer="fieldplay",
    maintainer_email="fieldplay@users.noreply.github.com",
    license="Apache-2.0",
    entry_points={
        "console_scripts": [
            "static_transform_publisher = tf2_ros_programs.publisher:main",
            "tf2_echo = tf2_ros_programs.echo:main",
        ]
    },
)
