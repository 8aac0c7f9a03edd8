"""What can be wrong with a wish for a sample."""


class SampleError(ValueError):
    """A sample that cannot be made as asked for: no such dataset, an option that cannot be, a place that is taken."""
