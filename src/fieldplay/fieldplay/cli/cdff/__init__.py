"""The commands `fieldplay cdff ...`."""
