"""An archive, or a part of it, into a bag."""
