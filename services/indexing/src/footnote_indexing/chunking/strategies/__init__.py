"""Our chunkers: every `Registration` of a module in this folder is one; a new module is in no list."""
