"""Durable jobs and operations: what was accepted is finished, whatever process dies in between."""
