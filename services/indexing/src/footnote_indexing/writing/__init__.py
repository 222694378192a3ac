"""Embeds texts and writes rows into the store."""
