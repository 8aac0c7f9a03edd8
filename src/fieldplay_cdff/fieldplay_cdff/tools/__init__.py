"""Tools for logs of the framework for common data fusion: what is in them, parts of them, tables and diagrams."""
