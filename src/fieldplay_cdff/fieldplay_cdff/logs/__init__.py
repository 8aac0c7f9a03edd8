"""Logs of MessagePack as CDFF and Rock write them: streams of samples with their times, read where they lie.

From file to message:

1. File: `log_files.py` opens it, zlib-compressed or not, and groups the files of a log by their names.
2. Index: `index_scan.py` goes through a log once. What it finds is small however long the log is (`file_index.py`):
   for each stream in a file (a part) where its samples start and between which times they were taken, block by block.
   For large logs this is cached outside of the archive.
3. Bytes: `log_streams.py` is a stream of all files by its rows. `sample_times.py` finds the bytes and the time of a row
   in its block again; for a flattened log, whose fields are not contiguous, `flattened_logs.py` does.
4. Sample: `msgpack_decode.py` unpacks the bytes; those of packed bits are unpacked once more by `asn1_uper.py`. Samples
   that differ in their numbers alone are never unpacked: their rows of bytes are columns already.
5. Record: `type_table.py` has an entry for each type of samples: how it is recognised, and the function that
   makes records of its samples, whose fields `sample_rows.py` finds in all spellings.
6. Message: `topic_builder.py` makes streams of an archive from all that; `log_times.py` has the order in
   which rows are published, `topic_builder.py` loads the records of a span. The rest is as for every archive.

`log.py` opens all of it: `open_log(path, report)`.
"""
