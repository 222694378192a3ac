"""Shared database code: a service describes its database in `Traits` and keeps its own tables and migrations."""
