"""The commands fuse, products and cdff."""
