"""Adapters of edge: its database with the migrations, and the gRPC stubs of the other stages."""
