"""Points of a laser in the pictures of a camera, out of an archive."""
