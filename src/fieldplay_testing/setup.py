from setuptools import find_packages, setup

NAME = "fieldplay_testing"

setup(
    name=NAME,
    version="0.1.0",
    description="What the tests of fieldplay's packages share.",
    license="Apache-2.0",
    packages=find_packages(exclude=["test"]),
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{NAME}"]),
        (f"share/{NAME}", ["package.xml"]),
    ],
    package_data={NAME: ["py.typed", "*.xml"]},
    extras_require={"test": ["pytest"]},  # so that `colcon test` runs pytest
    zip_safe=True,
)
