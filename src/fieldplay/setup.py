from setuptools import find_packages, setup

NAME = "fieldplay"

setup(
    name=NAME,
    version="0.1.0",
    description="The command and the library: archives of field robots and rosbag2 bags, converted, drawn, judged.",
    license="Apache-2.0",
    packages=find_packages(exclude=["test"]),
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{NAME}"]),
        (f"share/{NAME}", ["package.xml"]),
        ("bin", ["scripts/fieldplay"]),
    ],
    package_data={NAME: ["py.typed", "report/html/*.css"]},
    extras_require={"test": ["pytest"]},  # so that `colcon test` runs pytest
    zip_safe=True,
)
