"""Data in Rerun: records become columns of its entities (`entries`), a recording sends them, a viewer shows them."""
