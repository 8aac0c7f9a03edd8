"""ROS launch tests as items of pytest."""
