"""Samples that are packed bits (ASN.1, unaligned PER): the types of config/bits, and values out of bits."""
