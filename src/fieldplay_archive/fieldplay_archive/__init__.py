"""Archives of field robots: from their files to typed columns. Knows no ROS."""
