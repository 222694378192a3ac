"""Terminal output: answers, tables, the span waterfall, progress."""
