"""Conformance suites: what the contracts say of a stage, asked of any implementation of it over gRPC."""
