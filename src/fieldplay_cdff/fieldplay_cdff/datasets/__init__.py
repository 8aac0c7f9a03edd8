"""The readers of datasets that are logs of the framework."""
