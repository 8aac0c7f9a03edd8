"""Returns of lasers judged by a radar: sensor_integrity.py is what is computed."""
