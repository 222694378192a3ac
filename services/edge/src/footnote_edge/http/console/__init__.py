"""The console: a page for people, served from files that lie in the package."""
