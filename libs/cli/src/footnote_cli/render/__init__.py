"""Drawing in the terminal: answers, tables, the span waterfall, progress."""
