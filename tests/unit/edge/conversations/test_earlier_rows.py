"""Conversations that an earlier version stored with the names of their collections instead of ids."""

from datetime import UTC, datetime
from pathlib import Path

from footnote.stages.v1.scope_pb2 import Scope
from footnote_edge.adapters.conversations import ConversationTable
from footnote_edge.adapters.database import Database
from footnote_edge.adapters.tables import ConversationRow

SCOPE = Scope(tenant_id="t", user_id="u")


async def test_names_stand_for_themselves_and_can_be_changed(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path / 'edge.db'}")
    await database.migrate()
    now = datetime.now(UTC)
    owner = {"tenant_id": "t", "user_id": "u"}
    kept = {"title": "", "topic": "", "local_only": False, "create_time": now, "update_time": now}
    async with database.sessions.begin() as session:
        session.add(ConversationRow(id="c", collections='["a", "b"]', **owner, **kept))
    table = ConversationTable(database)
    before = await table.get(SCOPE, "c")
    assert before is not None
    assert before.collections == ["a", "b"]
    assert await table.named(["c"]) == {"c": {"a": "a", "b": "b"}}
    assert await table.change(SCOPE, before, {"collections": '{"1f": "a"}'}, unchanged=True)
    assert not await table.change(SCOPE, before, {"title": "late"}, unchanged=True)
    after = await table.get(SCOPE, "c")
    assert after is not None
    assert after.collections == ["1f"]
    assert await table.named(["c"]) == {"c": {"1f": "a"}}
    await database.close()
