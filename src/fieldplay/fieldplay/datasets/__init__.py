"""The datasets that are known, how an archive is opened, and a folder with the reader of each."""
