"""Conformance suites: test any implementation of a stage over gRPC against the promises of its contract."""
