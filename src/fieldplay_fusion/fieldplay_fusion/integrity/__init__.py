"""Returns of lasers judged by a radar: sensor_integrity.py is what is computed, the others what it is made of."""
