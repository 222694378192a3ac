"""Looking after a deployment from outside of it: backup, restoring, copying its store, and finding what is wrong."""
