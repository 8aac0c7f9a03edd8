"""Points of one sensor in the pictures of another: cameras, the points that they see, and pictures of both."""
