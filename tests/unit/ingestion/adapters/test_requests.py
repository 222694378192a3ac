"""A repeated request is known for as long as its record is kept, also while the clock is set ahead by mistake."""

from pathlib import Path

import pytest
from footnote_ingestion.adapters import requests
from footnote_ingestion.adapters.database import Database
from footnote_ingestion.model.repeats import Outcome, RequestKey

DAY = 24 * 3600 * 1_000_000


@pytest.mark.parametrize("ahead", [0, DAY // 2, DAY, 2 * DAY])
async def test_a_repeated_request_is_known_while_a_clock_set_ahead_is_in_doubt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ahead: int
) -> None:
    database = await Database.open("", tmp_path)
    key, outcome = RequestKey("t", "u", "r"), Outcome("content", "d", False, False)
    async with database.write() as connection:
        await requests.note(connection, key, outcome)
    now = requests.now_micros
    monkeypatch.setattr(requests, "now_micros", lambda: now() + ahead)
    assert await requests.RequestTable(database).find([key]) == {key: outcome}
    monkeypatch.setattr(requests, "deletion_micros", lambda: now() + ahead)  # an hour later the clock is believed
    there = await requests.RequestTable(database).find([key])
    assert there == ({key: outcome} if ahead < DAY else {})
    if not there:
        async with database.write() as connection:
            await requests.note(connection, key, outcome)
    await database.close()
