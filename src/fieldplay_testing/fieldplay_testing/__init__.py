"""What tests of several packages share: archives and messages written by hand, scenes, nodes on a stage.

It lies below all other packages, so that each can name it in its package.xml. A module of it may import the packages
whose tests use it: those have them at hand, and named here they would make a circle.
"""
