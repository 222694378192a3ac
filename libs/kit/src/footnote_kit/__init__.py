"""What every service shares: server, clients, errors, settings, logs, telemetry."""
