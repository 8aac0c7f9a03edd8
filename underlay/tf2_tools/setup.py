"""Installs tf2_tools for colcon."""

from setuptools import setup

NAME = "tf2_tools"

setup(
    name=NAME,
    version="0.1.0",
    packages=["tf2_tools"],
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{NAME}"]),
        (f"share/{NAME}", ["package.xml"]),
    ],
    install_requires=["setuptools"],
    zip_safe=True,
    maintainer="fieldplay",
    maintainer_email="fieldplay@users.noreply.github.com",
    description="Stand-in for tf2_tools: view_frames.",
    license="Apache-2.0",
    entry_points={"console_scripts": ["view_frames = tf2_tools.view_frames:main"]},
)
