"""Many archives through chosen commands, on many processes or machines.

`jobs.py` is one archive through one command, `cluster.py` the workers of Dask that do jobs, `results.py` what came of
all as tables and a page.
"""
