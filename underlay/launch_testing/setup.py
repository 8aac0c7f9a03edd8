"""Packaging of launch_testing (stand-in)."""

from setuptools import find_packages, setup

PACKAGE = "launch_testing"

setup(
    name=PACKAGE,
    version="0.1.0",
    description="Stand-in for launch_testing: tests of launched processes, for a ROS 2 that comes from wheels.",
    maintainer="fieldplay",
    maintainer_email="fieldplay@users.noreply.github.com",
    license="Apache-2.0",
    packages=find_packages(include=[PACKAGE, f"{PACKAGE}.*"]),
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{PACKAGE}"]),
        (f"share/{PACKAGE}", ["package.xml"]),
    ],
    install_requires=["setuptools"],
    zip_safe=True,
    entry_points={
        "console_scripts": ["launch_test = launch_testing.launch_test:main"],
        "pytest11": ["launch_testing = launch_testing.pytest.hooks"],
    },
)
