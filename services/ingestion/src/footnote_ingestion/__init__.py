"""Stage 1: bytes to documents and blocks."""
