"""Collections that hold nothing but rows with vectors of their own say so.

Until 2026-11-22 they named the embedder of the deployment. A comparison with ingestion, which knows no such rows, would
take them for leftovers and remove them.
"""

import sqlalchemy as sa
from alembic import op
from footnote.types.v1.collection_pb2 import EmbeddingSettings
from footnote_providers.own_vectors import PROVIDER

revision = "0007"
down_revision = "0006"

_GENERATIONS = sa.table(
    "indexing_generations", *(sa.column(name) for name in ("collection_id", "number", "state", "embedding"))
)
_REVISIONS = sa.table(
    "indexing_revisions", *(sa.column(name) for name in ("collection_id", "generation", "document_id", "state"))
)
_CURRENT = "CURRENT"


def upgrade() -> None:
    """Write it into the generations that are searched."""
    connection = op.get_bind()
    generations = connection.execute(sa.select(_GENERATIONS).where(_GENERATIONS.c.state == _CURRENT)).all()
    for one in generations:
        of_it = (
            _REVISIONS.c.collection_id == one.collection_id,
            _REVISIONS.c.generation == one.number,
            _REVISIONS.c.state == _CURRENT,
        )
        own = _REVISIONS.c.document_id.startswith(f"{one.collection_id}/", autoescape=True)
        counts = sa.select(sa.func.count(), sa.func.sum(sa.case((own, 1), else_=0))).select_from(_REVISIONS)
        rows, own_rows = connection.execute(counts.where(*of_it)).one()
        embedding = EmbeddingSettings.FromString(one.embedding)
        if not rows or rows != own_rows or embedding.provider == PROVIDER:
            continue
        changed = EmbeddingSettings(provider=PROVIDER, dimensions=embedding.dimensions).SerializeToString()
        where = (_GENERATIONS.c.collection_id == one.collection_id, _GENERATIONS.c.number == one.number)
        connection.execute(sa.update(_GENERATIONS).where(*where).values(embedding=changed))
