"""Sources: synchronises external items into documents of a collection."""
