"""The front door of a public gRPC port: looks at HTTP/2 frames before gRPC's own server does, and passes them on."""
