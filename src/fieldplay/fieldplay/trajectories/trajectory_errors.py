"""What can go wrong when several sensors are compared."""

from fieldplay.core.errors import UserError


class FusionError(UserError):
    """Two sensors or trajectories that cannot be compared."""
