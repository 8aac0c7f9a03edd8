"""Tools for logs of the framework for common data fusion: contents, parts of them, tables and diagrams."""
