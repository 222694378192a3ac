"""Translates HTTP requests to RPCs, and their responses back."""
