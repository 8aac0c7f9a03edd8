"""What needs ROS: the node that hears live topics."""
