"""Formats of single files: point clouds, pictures, height models, labels."""
