"""Topics of an archive or a bag as files that other programs read: tables, trajectories, pictures, clouds, KITTI."""
