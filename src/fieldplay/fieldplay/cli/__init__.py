"""The command `fieldplay`."""
