"""Stage 3: query to scored chunks."""
