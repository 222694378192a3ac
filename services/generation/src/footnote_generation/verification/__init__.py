"""Whether a source bears out a statement: claims, their facts, contradictions, and second opinions."""
