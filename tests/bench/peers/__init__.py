"""Footnote beside other libraries, each in an environment of its own, on the same chunks and vectors."""
