"""The indexing service's outside dependencies, one backend per file."""
