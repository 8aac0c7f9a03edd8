"""Messages as what goes through the ports of a pipeline, and back."""
