"""What can go wrong when several sensors are compared."""

from fieldplay_messages.errors import UserError


class FusionError(UserError):
    """Two sensors or trajectories that cannot be compared."""
