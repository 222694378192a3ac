"""The description of the HTTP routes, made from the contracts."""
