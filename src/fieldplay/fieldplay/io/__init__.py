"""Files of an archive, wherever they lie, and their formats: text tables, point clouds, rasters, labels.

The engine of text tables: files of rows of numbers become columns of NumPy, each line being parsed once.

How a file becomes records, in the order in which it happens:

- `table_rows`: how a table writes its rows (`Dialect`), its rows, as parsed and as kept (`TimedRows`), and where they
  are kept until the archive is closed, in memory or in a file without a name (`RowCache`).
- `delimited`: blocks of delimited text as rows, by the parser of polars; times are exact, and what is wrong with a line
  is explained.
- `table_format`: a kind of table in a dataset's YAML (`TableSpec`), and what a file's start adds to it
  besides: delimiter, columns, units (`TableFormat`).
- `table`: a `Table` reads a file once, from start to end, in blocks of whole lines, some of which are
  parsed at once; it reports what is wrong and keeps the rows of each block. `Tables` are all tables of one kind as one,
  `TableStream` and `GroupStream` make records of their rows.

Other texts of rows take the place of `table_format` and `delimited`, and are tables for all the rest:

- `file_table`: files of one row each; their times are in another file (`time_list`).
- `tagged_lines`: logs of lines `*<seconds> TYPE numbers`, with lists of any length behind them.
- what only one dataset has is in its folder, as NMEA sentences, or the states of a motor in hexadecimal.

`key_values` is for texts that are no tables: lines `key = value` in blocks below headings.
"""
