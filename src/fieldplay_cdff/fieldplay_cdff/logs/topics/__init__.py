"""The streams of a log as streams of an archive: maker.py makes them, records.py is what they are."""
