"""Footnote and other libraries, each in its own environment, on the same chunks and vectors."""
