"""Stage 5: prompt to answer."""
