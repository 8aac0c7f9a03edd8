"""What can be wrong with a wish for a sample."""


class SampleError(ValueError):
    """A sample that cannot be made as asked for."""


class UnknownDatasetError(SampleError):
    """No writer has that name."""


class OptionError(SampleError):
    """An option that does not exist, or a value that it cannot have."""


class OccupiedError(SampleError):
    """Something stands where the sample should go, and it is not a sample."""
