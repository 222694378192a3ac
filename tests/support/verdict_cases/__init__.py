"""Answers with their sources, checked by the real service without a reader, and with scripted readers that err."""
