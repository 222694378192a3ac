"""Durable jobs and operations: accepted work is finished, even after crashes."""
