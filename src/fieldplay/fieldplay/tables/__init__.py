"""Rows of any kind as tables in files: CSV and Parquet, in blocks, so that memory does not grow with their number."""
