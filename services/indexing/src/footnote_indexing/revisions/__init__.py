"""Revisions of documents on their way to being searched, changed and read back."""
