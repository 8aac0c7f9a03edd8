"""SherpaTT's logs and all others of CDFF; opening.py first."""
