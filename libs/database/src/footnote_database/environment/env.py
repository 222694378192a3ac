"""The alembic environment of all services: runs migrations on the connection from `footnote_database.migrations`.

The connection is in a transaction, which alembic leaves alone; the code that opened it commits.
"""

from alembic import context

attributes = context.config.attributes
context.configure(
    connection=attributes["connection"],
    target_metadata=attributes["metadata"],
    version_table=attributes["version_table"],
)
context.run_migrations()
