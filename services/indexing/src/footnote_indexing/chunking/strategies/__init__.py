"""The built-in chunkers: every `Registration` in a module of this folder is found without a list."""
