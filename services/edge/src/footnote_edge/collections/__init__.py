"""Collections by name, their visibility, and the bounds that they put on a question's texts."""
