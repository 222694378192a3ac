"""Texts to vectors, and rows into the store."""
