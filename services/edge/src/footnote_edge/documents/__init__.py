"""Documents at the public API: upload, download, change, watch, delete."""
