"""Runs the migrations on the connection that the service hands over."""

from __future__ import annotations

from alembic import context
from footnote_ingestion.adapters.schema import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata, render_as_batch=True)
with context.begin_transaction():
    context.run_migrations()
