from setuptools import find_packages, setup

NAME = "fieldplay_player"

setup(
    name=NAME,
    version="0.1.0",
    description="Records of field-robot archives to ROS 2 messages, live or in a bag.",
    license="Apache-2.0",
    packages=find_packages(exclude=["test"]),
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{NAME}"]),
        (f"share/{NAME}", ["package.xml"]),
        ("bin", ["scripts/fieldplay"]),
    ],
    package_data={NAME: ["py.typed", "cdff/description/*.yaml", "report/html/*.css"]},
    entry_points={"console_scripts": ["player = fieldplay_player.node:main"]},
    zip_safe=True,
)
