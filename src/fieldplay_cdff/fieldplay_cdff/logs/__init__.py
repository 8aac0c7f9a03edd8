"""Logs of MessagePack as CDFF and Rock write them: streams of samples with their times, read where they lie.

The walk of a sample, from its file into a message:

1. File: `log_files.py` opens it, packed by zlib or not; `recordings.py` tells by names which files belong together.
2. Index: `index/scan.py` goes through a log once. What it finds is small however long the log is
   (`index/file_index.py`): of each stream in a file (a part) where its samples begin and between which times they were
   taken, told block by block. Of large logs this is kept outside of the archive (`index/file_index.py`).
3. Bytes: `streams.py` is a stream of all files by its rows. `index/blocks.py` finds a row's bytes and time in its block
   again (`index/times.py`); of a flattened log, whose fields lie apart, `columns/` does.
4. Sample: `messagepack/` unpacks the bytes; those of packed bits are unpacked once more by `packed_bits/`. What is
   alike but for its numbers is never unpacked: its rows of bytes are columns already (`msgpack_decode/values.py`).
5. Record: `types/table.py` has a row for each type of samples: how it is known, and the function that makes records of
   its samples, whose fields `types/rows.py` finds in all spellings.
6. Message: `archive_streams/` makes streams of an archive of all that: `topics.py` gives away topics, `times.py` has
   the order in which rows leave, `records.py` loads the records of a span. What follows is as for every archive.

`log.py` opens all of it: `open_log(path, report)`.
"""
