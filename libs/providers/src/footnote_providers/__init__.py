"""Embedding providers and their registry."""
