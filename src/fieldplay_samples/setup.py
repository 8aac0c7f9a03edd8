from setuptools import find_packages, setup

NAME = "fieldplay_samples"

setup(
    name=NAME,
    version="0.1.0",
    description="Synthetic archives in the published layouts, on one world; knows no ROS and nothing of the readers.",
    license="Apache-2.0",
    packages=find_packages(exclude=["test"]),
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{NAME}"]),
        (f"share/{NAME}", ["package.xml"]),
    ],
    package_data={NAME: ["py.typed", "data/*.yaml"]},
    extras_require={"test": ["pytest"]},  # so that `colcon test` runs pytest
    zip_safe=True,
)
