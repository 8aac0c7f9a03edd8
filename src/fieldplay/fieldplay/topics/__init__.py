"""The topics of an open archive: its streams, static and dynamic tf, and what is computed of them."""
