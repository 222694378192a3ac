"""Entry point of alembic: migrations run on the connection that the service hands over."""

from alembic import context

from footnote_indexing.adapters.tables import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    version_table="indexing_alembic_version",
    transactional_ddl=True,
)
with context.begin_transaction():
    context.run_migrations()
