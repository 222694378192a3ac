"""The commands of `footnote`, one module per group."""
