"""Writes rosbag2 bags from batches of messages whose bytes are laid out already; knows no ROS."""
