"""What sensors see and feel of the world."""
