"""Whether a source supports a statement: claims, their facts, contradictions, and opinions of verifiers."""
