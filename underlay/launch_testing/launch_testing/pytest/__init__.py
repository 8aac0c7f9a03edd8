"""Launch tests as items of pytest."""
