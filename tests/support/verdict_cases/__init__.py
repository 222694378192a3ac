"""Answers beside their sources, judged by the real service without a reader and with scripted ones that err."""
