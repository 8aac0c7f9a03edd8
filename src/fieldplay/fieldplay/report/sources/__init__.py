"""What a page can be about: archives, and rosbag2 bags by whomever."""
