"""The programs of upstream's tf2_ros, on the Python package of that name."""
