"""Installs message_filters for colcon."""

from setuptools import setup

NAME = "message_filters"

setup(
    name=NAME,
    version="0.1.0",
    packages=["message_filters"],
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{NAME}"]),
        (f"share/{NAME}", ["package.xml"]),
    ],
    install_requires=["setuptools"],
    zip_safe=True,
    maintainer="fieldplay",
    maintainer_email="fieldplay@users.noreply.github.com",
    description="Stand-in for the Python of message_filters: messages that belong together.",
    license="Apache-2.0",
)
