"""Shared infrastructure of the services: server, clients, errors, settings, logs, telemetry."""
