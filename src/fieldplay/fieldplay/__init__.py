"""Archives of field robots, and rosbag2 bags: the command `fieldplay` and what it offers."""
