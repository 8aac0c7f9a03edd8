"""The main job from end to end on a sample archive: what `./ws demo` runs."""
