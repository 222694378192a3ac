"""The front proxy of a public gRPC port: checks HTTP/2 frames before it passes them to gRPC's own server."""
