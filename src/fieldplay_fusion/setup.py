from setuptools import find_packages, setup

NAME = "fieldplay_fusion"
NODES = ("odometry_evaluation", "orchestrator", "overlay", "pipeline", "products", "sensor_integrity")

setup(
    name=NAME,
    version="0.1.0",
    description="Several sensors together: points in pictures, sensors against each other, trajectories compared.",
    license="Apache-2.0",
    packages=find_packages(exclude=["test"]),
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{NAME}"]),
        (f"share/{NAME}", ["package.xml"]),
    ],
    package_data={NAME: ["py.typed", "descriptors/*.yaml", "dfn/*.yaml"]},
    entry_points={"console_scripts": [f"{node} = {NAME}.nodes.programs:{node}" for node in NODES]},
    extras_require={"test": ["pytest"]},  # so that `colcon test` runs pytest
    zip_safe=True,
)
