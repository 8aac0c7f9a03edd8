"""The lines on pipelines in the output of the command `list`."""

from fieldplay_cdff.pipeline.chains import pipeline_files


def lines() -> list[str]:
    """The names of all pipelines, in a line."""
    return [f"fuse        pipelines of fusion on any of them, or on a bag: {', '.join(sorted(pipeline_files()))}"]
