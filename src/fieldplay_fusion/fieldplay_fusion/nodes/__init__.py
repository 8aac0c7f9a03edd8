"""ROS nodes: they subscribe, call the functions of this package, and publish."""
