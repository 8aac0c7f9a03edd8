"""What everything stands on: errors, times, units, YAML, outputs that are all or nothing."""
