"""Evaluation of retrieval: data sets, measures, significance, and runs through the real services."""
