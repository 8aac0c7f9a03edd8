"""Markup, charts and pictures, without any knowledge of messages."""
