"""Ingestion's outside dependencies: the database and the object store."""
