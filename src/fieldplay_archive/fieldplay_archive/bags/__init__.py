"""Bags of ROS 1 and ROS 2 as archives: their topics become streams, read span by span in the order of time."""
