"""Footnote's own kinds of sources, one module each, behind `ports.Connection`."""
