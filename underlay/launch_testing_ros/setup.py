"""Packaging of launch_testing_ros (stand-in)."""

from setuptools import find_packages, setup

PACKAGE = "launch_testing_ros"

setup(
    name=PACKAGE,
    version="0.1.0",
    description="Stand-in for launch_testing_ros: launch tests that wait for topics, for ROS 2 from wheels.",
    maintainer="fieldplay",
    maintainer_email="fieldplay@users.noreply.github.com",
    license="Apache-2.0",
    packages=find_packages(include=[PACKAGE, f"{PACKAGE}.*"]),
    py_modules=["launch_testing_ros_pytest_entrypoint"],
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{PACKAGE}"]),
        (f"share/{PACKAGE}", ["package.xml"]),
    ],
    install_requires=["setuptools"],
    zip_safe=True,
    entry_points={"pytest11": ["launch_ros = launch_testing_ros_pytest_entrypoint"]},
)
