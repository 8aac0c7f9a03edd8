from setuptools import Extension, find_packages, setup

NAME = "fieldplay_ros"
NODES = (
    "ackermann_odometry",
    "arm_tcp",
    "joint_transforms",
    "lander_arm_tcp",
    "odometry_evaluation",
    "odometry_path",
    "orchestrator",
    "overlay",
    "pipeline",
    "products",
    "sensor_integrity",
    "skid_steer_odometry",
    "wheel_odometry",
    "wheel_poses",
)

setup(
    name=NAME,
    version="0.1.0",
    description="The nodes: the player, computations, pipelines and their orchestration, overlays, the live view.",
    license="Apache-2.0",
    packages=find_packages(exclude=["test*"]),
    # Without a compiler or Linux the player publishes from Python, at more cost.
    ext_modules=[Extension(f"{NAME}._timed_publish", ["fieldplay_ros/timed_publish.c"], optional=True)],
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{NAME}"]),
        (f"share/{NAME}", ["package.xml"]),
    ],
    package_data={NAME: ["py.typed"]},
    entry_points={
        "console_scripts": [
            "player = fieldplay_ros.player_node:main",
            *(f"{node} = {NAME}.programs:main" for node in NODES),
        ]
    },
    extras_require={"test": ["pytest"]},  # so that `colcon test` runs pytest
    zip_safe=False,
)
