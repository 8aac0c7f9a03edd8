"""The error for substitutions that cannot be performed."""


class SubstitutionFailure(RuntimeError):
    """A substitution that has no text in the present context."""
