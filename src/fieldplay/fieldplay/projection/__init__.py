"""Points of one sensor in the images of another: cameras, motion between both, overlays."""
