"""Records of field-robot archives to ROS 2 messages, live or in a bag."""
