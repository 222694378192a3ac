"""Maintenance of a deployment from outside: backup, restore, copying its store, and diagnosis."""
