"""Layers before a request is read: connections, sizes, origins, credentials; and refusals."""
