"""A page about an archive or a bag: read once, drawn as one HTML file that needs nothing else.

`sources/` turn files into batches of messages, `panels/` collect from them what they draw, `html/` knows how to draw.
"""
