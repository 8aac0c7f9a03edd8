"""Streams of logs as tables: a row for each sample, in CSV or Parquet."""
