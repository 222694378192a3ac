"""The web console, served from files in the package."""
