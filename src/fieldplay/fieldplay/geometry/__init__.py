"""Transforms, frames, extrinsics and robot models as functions on arrays."""
