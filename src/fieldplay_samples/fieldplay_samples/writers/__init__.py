"""Writers of archives. Each package in here is a dataset's, found by its name; the modules beside them serve all."""
