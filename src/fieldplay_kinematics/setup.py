from setuptools import find_packages, setup

NAME = "fieldplay_kinematics"
NODES = (
    "ackermann_odometry",
    "arm_tcp",
    "joint_transforms",
    "lander_arm_tcp",
    "odometry_path",
    "skid_steer_odometry",
    "wheel_odometry",
    "wheel_poses",
)

setup(
    name=NAME,
    version="0.1.0",
    description="Wheels, arms and transforms as functions on arrays.",
    license="Apache-2.0",
    packages=find_packages(exclude=["test"]),
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{NAME}"]),
        (f"share/{NAME}", ["package.xml"]),
    ],
    package_data={NAME: ["py.typed"]},
    entry_points={"console_scripts": [f"{node} = {NAME}.nodes.programs:{node}" for node in NODES]},
    extras_require={"test": ["pytest"]},  # so that `colcon test` runs pytest
    zip_safe=True,
)
