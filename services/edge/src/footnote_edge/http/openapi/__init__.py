"""OpenAPI description of the HTTP routes, generated from the contracts."""
