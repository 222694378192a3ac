"""Stage 4: chunks to prompt."""
