"""What the service stands on: the database and the object store."""
