"""Collections by name, who may see them, and what they bind the texts of a question to."""
