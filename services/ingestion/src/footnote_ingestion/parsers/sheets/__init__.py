"""Spreadsheets and delimited text."""
