"""From a question to its answer: planned, searched for, written, kept, and made again."""
