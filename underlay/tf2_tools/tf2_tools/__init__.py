"""Stand-in for upstream's tf2_tools: view_frames."""
