"""What can be done with documents: taken in, listed, read, changed, deleted."""
