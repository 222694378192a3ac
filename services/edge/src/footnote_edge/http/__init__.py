"""The public API for those who don't speak gRPC: JSON, server-sent events, and the forms that others expect."""
