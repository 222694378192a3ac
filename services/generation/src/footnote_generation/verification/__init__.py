"""Whether a source supports a statement: claims, their facts, contradictions, and second opinions."""
