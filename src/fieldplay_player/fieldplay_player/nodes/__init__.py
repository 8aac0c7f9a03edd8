"""ROS nodes and what they run on."""
