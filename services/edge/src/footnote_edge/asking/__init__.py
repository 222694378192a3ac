"""From a question to its answer: plan, retrieve, generate, store and replay."""
