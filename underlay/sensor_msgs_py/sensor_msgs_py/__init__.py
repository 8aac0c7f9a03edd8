"""Stand-in for upstream's sensor_msgs_py."""
