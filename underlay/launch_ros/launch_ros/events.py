"""Not covered."""

raise ImportError("launch_ros.events exists upstream, but this stand-in for launch_ros does not cover it")
