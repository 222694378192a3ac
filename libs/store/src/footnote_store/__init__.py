"""The vector store: embedded engine, schema, rows, filters."""
