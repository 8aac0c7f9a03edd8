"""Topics and rows as files: CSV, Parquet, TUM, KITTI, images, point clouds."""
