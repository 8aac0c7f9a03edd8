"""What can be wrong with a projection that is asked for."""


class ProjectionWordError(Exception):
    """A word that names nothing of the archive, or is no time; the message says what there is."""
