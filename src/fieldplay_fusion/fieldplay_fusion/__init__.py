"""Several sensors together: points in pictures, sensors against each other. What needs ROS lives in `nodes/`."""
