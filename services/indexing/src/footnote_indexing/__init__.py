"""Stage 2: blocks to chunks, vectors and search indexes."""
