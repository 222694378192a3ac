"""Names unique for their holder, and whom collections are shared with."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

_COLLECTIONS = "indexing_collections"
_PRIVATE = 2
_NAMING = {"uq": "uq_%(table_name)s_%(column_0_name)s"}


def upgrade() -> None:
    """Give every collection its holder, and make the table of grants."""
    connection = op.get_bind()
    op.add_column(_COLLECTIONS, sa.Column("holder", sa.String(256), nullable=False, server_default=""))
    table = sa.table(_COLLECTIONS, sa.column("holder"), sa.column("owner_id"), sa.column("visibility"))
    op.execute(sa.update(table).where(table.c.visibility == _PRIVATE).values(holder=table.c.owner_id))
    # SQLite gave the old constraint no name, PostgreSQL one of its own.
    known = sa.inspect(connection).get_unique_constraints(_COLLECTIONS)
    old = next(one["name"] for one in known if one["column_names"] == ["tenant_id", "name"])
    with op.batch_alter_table(_COLLECTIONS, naming_convention=None if old else _NAMING) as batch:
        batch.drop_constraint(old or f"uq_{_COLLECTIONS}_tenant_id", type_="unique")
        batch.alter_column("holder", existing_type=sa.String(256), existing_nullable=False, server_default=None)
        batch.create_unique_constraint("indexing_collections_by_name", ["tenant_id", "holder", "name"])
    op.create_table(
        "indexing_grants",
        sa.Column("collection_id", sa.String(64), primary_key=True),
        sa.Column("kind", sa.String(8), primary_key=True),
        sa.Column("grantee", sa.String(256), primary_key=True),
        sa.Column("access", sa.Integer, nullable=False),
    )
    op.create_index("indexing_grants_by_grantee", "indexing_grants", ["kind", "grantee"])
