"""Network access of sources: permitted addresses, and limits."""
