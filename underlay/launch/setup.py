"""Installation of the stand-in for launch."""

from setuptools import find_packages, setup

package_name = "launch"

setup(
    name=package_name,
    version="0.1.0",
    description="Stand-in for launch: descriptions of systems of processes, for a ROS 2 that comes from wheels.",
    maintainer="fieldplay",
    maintainer_email="fieldplay@users.noreply.github.com",
    license="Apache-2.0",
    packages=find_packages(exclude=["test"]),
    package_data={package_name: ["py.typed"]},
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{package_name}"]),
        (f"share/{package_name}", ["package.xml"]),
    ],
    install_requires=["setuptools"],
    python_requires=">=3.10",
    zip_safe=True,
)
