"""Names of files as messages show them."""

import pytest

from fieldplay_archive.spec import name_from_patterns


@pytest.mark.parametrize(
    ("files", "folder", "name"),
    [
        (r"GnssImu.*\.csv", "", "GnssImu*.csv"),
        (r"MainCam_.*\.jpe?g", "", "MainCam_*.jpg"),
        (r"odometry.*\.(log|txt)", "", "odometry*.log"),
        (r"(sequence_?\d+_)?(gt|ground_?truth)\.txt", "", "gt.txt"),
        (r"ida_sc_coordinates\.\w+", "", "ida_sc_coordinates.*"),
        (r".*_?012\.txt", "", "*012.txt"),
        (r"RangeBearingQAsciiData\.txt|matlab.*Laser_?H.*\.txt", "LaserHorizontal|matlabAsciiLaserData",
         "LaserHorizontal/RangeBearingQAsciiData.txt"),
    ],
)  # fmt: skip
def test_a_pattern_is_shown_as_the_first_name_that_it_stands_for(files: str, folder: str, name: str) -> None:
    assert name_from_patterns(files, folder) == name
