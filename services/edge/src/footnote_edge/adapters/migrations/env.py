"""Runs migrations on the connection that `footnote_edge.adapters.database` hands over."""

from alembic import context
from footnote_edge.adapters.tables import Base

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=Base.metadata,
    transactional_ddl=False,
    render_as_batch=True,
)
context.run_migrations()
