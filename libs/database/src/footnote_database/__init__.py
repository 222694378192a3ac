"""Databases of the services, built once; a service says what is its own (`Traits`), and keeps tables and migrations."""
