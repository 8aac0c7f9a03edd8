"""Upstream's client of a remote buffer, which this stand-in does not cover."""

raise ImportError("tf2_ros.buffer_client (BufferClient) is not covered by this stand-in for tf2_ros_py")
