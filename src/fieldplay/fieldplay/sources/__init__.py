"""What can be opened, an archive or a bag, as records in the order of time."""
