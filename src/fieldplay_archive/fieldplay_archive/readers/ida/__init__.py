"""InSight's robotic arm at the Planetary Data System; opening.py first."""
