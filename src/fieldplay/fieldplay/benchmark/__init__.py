"""Many archives and many methods: other programs of SLAM, and batches of commands."""
