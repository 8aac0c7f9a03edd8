"""Descriptions of processing steps and of chains of them: read, with all that is wrong in them."""
