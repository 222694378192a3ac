"""The audit log, and the triggers that keep it append-only."""

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"

_SQLITE = (
    "CREATE TRIGGER audit_events_unchanged BEFORE UPDATE ON audit_events "
    "BEGIN SELECT RAISE(ABORT, 'audit events are never changed'); END",
    "CREATE TRIGGER audit_events_retained BEFORE DELETE ON audit_events "
    "WHEN OLD.time_ms > (CAST(strftime('%s', 'now') AS INTEGER) - 86400) * 1000 "
    "BEGIN SELECT RAISE(ABORT, 'audit events of the last day are never deleted'); END",
)
_POSTGRESQL = (
    "CREATE FUNCTION audit_events_retained() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
    "IF TG_OP = 'DELETE' AND OLD.time_ms <= (extract(epoch FROM clock_timestamp()) - 86400) * 1000 THEN RETURN OLD; "
    "END IF; RAISE EXCEPTION 'audit events are never changed, and those of the last day never deleted'; END $$",
    "CREATE TRIGGER audit_events_retained BEFORE UPDATE OR DELETE ON audit_events "
    "FOR EACH ROW EXECUTE FUNCTION audit_events_retained()",
)


def upgrade() -> None:
    """Create the table and its triggers."""
    op.create_table(
        "audit_events",
        sa.Column("sequence", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True, autoincrement=True),
        sa.Column("id", sa.String(32), nullable=False, unique=True),
        sa.Column("time_ms", sa.BigInteger, nullable=False),
        sa.Column("tenant_id", sa.String(256), nullable=False),
        sa.Column("user_id", sa.String(600), nullable=False),
        sa.Column("authentication", sa.Integer, nullable=False),
        sa.Column("key_id", sa.String(40), nullable=False),
        sa.Column("door", sa.Integer, nullable=False),
        sa.Column("address", sa.String(64), nullable=False),
        sa.Column("action", sa.String(64), nullable=False),
        sa.Column("resource", sa.String(300), nullable=False),
        sa.Column("changed_fields", sa.Text, nullable=False),
        sa.Column("providers", sa.Text, nullable=False),
        sa.Column("outcome", sa.Integer, nullable=False),
        sa.Column("status", sa.String(32), nullable=False),
        sa.Column("reason", sa.String(64), nullable=False),
        sa.Column("trace_id", sa.String(32), nullable=False),
        sa.Column("request_id", sa.String(128), nullable=False),
        sa.Column("count", sa.BigInteger, nullable=False),
        sa.Column("last_ms", sa.BigInteger, nullable=True),
        sa.Column("mixed", sa.Boolean, nullable=False, server_default=sa.false()),
    )
    op.create_index("audit_events_by_tenant", "audit_events", ["tenant_id", "sequence"])
    op.create_index("ix_audit_events_time_ms", "audit_events", ["time_ms"])
    for statement in _POSTGRESQL if op.get_bind().dialect.name == "postgresql" else _SQLITE:
        op.execute(statement)
