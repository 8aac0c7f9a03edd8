"""What can go wrong when trajectories are compared."""


class EvaluationWordError(Exception):
    """What was asked for is not in the archive or bag; the message is fit for a user."""
