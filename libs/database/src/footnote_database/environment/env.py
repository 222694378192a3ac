"""The one environment of alembic: runs migrations on the connection that `footnote_database.migrations` hands over.

That connection is in a transaction, which alembic leaves alone: committing is up to who opened it.
"""

from alembic import context

attributes = context.config.attributes
context.configure(
    connection=attributes["connection"],
    target_metadata=attributes["metadata"],
    version_table=attributes["version_table"],
)
context.run_migrations()
