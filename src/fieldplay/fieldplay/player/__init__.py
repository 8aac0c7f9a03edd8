"""What is played and when, as a state machine without ROS."""
