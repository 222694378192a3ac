"""The harness's own audit, shown what is wrong: it finds each."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from footnote.edge.v1.answers_pb2 import RATING_DOWN, RATING_UNSPECIFIED, RATING_UP, Feedback
from footnote.edge.v1.chunks_pb2 import Chunk
from footnote.edge.v1.documents_pb2 import Document
from footnote.types.v1.collection_pb2 import Collection
from footnote.types.v1.document_pb2 import DOCUMENT_STATE_ERROR, DOCUMENT_STATE_INDEXED
from footnote.types.v1.vector_pb2 import VectorRow
from footnote_kit.clients import open_channel
from footnote_kit.errors import InvalidArgument, Unavailable
from support.doubles.listing_caller import Listing
from support.harness import audit, message_audit, reference_model, storage_audit, vector_steps
from support.harness.caller import Caller
from support.harness.plan import Step
from support.harness.reference_model import Possible, Presence, ReferenceModel, sha256, text

CONTENT = 5


def told() -> ReferenceModel:
    """One collection with one document."""
    home = reference_model.Collection("c", "c1", Possible(""), Possible(0), Possible(0))
    return ReferenceModel([home], [reference_model.Document("d", home, Possible(CONTENT), "d1")])


def listed(**changed: Any) -> Document:
    fields = {"id": "d1", "filename": "d.md", "collection_id": "c1", "sha256": sha256(CONTENT), "revision": 1}
    return Document(**{**fields, "indexed_revision": 1, "state": DOCUMENT_STATE_INDEXED, "chunk_count": 1, **changed})


async def catalogue(model: ReferenceModel, documents: list[Document]) -> list[str]:
    return await audit.catalogue(Listing(documents=documents, collections=[Collection(id="c1", name="c")]), model)


async def test_what_is_as_told_is_no_finding() -> None:
    assert await catalogue(told(), [listed()]) == []


@pytest.mark.parametrize(
    ("documents", "finding"),
    [
        ([], "lost"),
        ([listed(), listed(id="d2")], "doubled"),
        ([listed(), listed(id="d3", filename="other.md")], "ghost"),
        ([listed(sha256=sha256(CONTENT + 1))], "differs"),
        ([listed(tags=["unknown"])], "differs"),
        ([listed(state=DOCUMENT_STATE_ERROR)], "differs"),
        ([listed(revision=2)], "half"),
    ],
)
async def test_a_wrong_catalogue_is_found(documents: list[Document], finding: str) -> None:
    assert finding in {one.partition(":")[0] for one in await catalogue(told(), documents)}


@pytest.mark.parametrize(
    ("rows", "finding"),
    [
        ({"s-0": "New", "s-1": "New"}, ""),
        ({"s-0": "New"}, "lost"),
        ({"s-0": "New"}, "half"),
        ({"s-0": "New", "s-1": "Old"}, "differs"),
        ({"s-0": "New", "s-1": "New", "gone-0": "Old"}, "ghost"),
        ({"s-0": "New", "s-1": "New", "other-0": "New"}, "ghost"),
    ],
)
async def test_wrong_rows_of_own_vectors_are_found(rows: dict[str, str], finding: str) -> None:
    model = ReferenceModel()
    model.rows["v"] = {"s-0": Possible("New"), "s-1": Possible("New"), "gone-0": Possible(None)}
    listed_rows = [VectorRow(id=name, text=text) for name, text in rows.items()]
    found = {one.partition(":")[0] for one in await vector_steps.audit(Listing(rows=listed_rows), model)}
    assert (finding in found) if finding else not found


@pytest.mark.parametrize(
    ("presence", "listed_rating", "finding"),
    [
        (Presence.THERE, RATING_UP, ""),
        (Presence.THERE, RATING_DOWN, "lost"),
        (Presence.THERE, RATING_UNSPECIFIED, "lost"),
        (Presence.GONE, RATING_UP, "ghost"),
    ],
)
async def test_a_wrong_rating_is_found(presence: Presence, listed_rating: Any, finding: str) -> None:
    model, question = ReferenceModel(), reference_model.Question("Why?", "q", "a")
    question.rating.acknowledged(RATING_UP, 0)
    model.conversations.append(reference_model.Conversation("c", Possible("Talk"), [question], presence))
    feedback = [Feedback(answer_id="a", rating=listed_rating)] if listed_rating else []
    found = [one.partition(":")[0] for one in await message_audit.ratings(Listing(feedback=feedback), model)]
    assert found == ([finding] if finding else [])
    unknown = Feedback(answer_id="b", rating=RATING_UP)
    assert "ghost" in " ".join(await message_audit.ratings(Listing(feedback=[*feedback, unknown]), model))


async def test_a_deleted_document_that_is_listed_is_a_ghost() -> None:
    model = told()
    model.documents[0].presence = Presence.GONE
    assert [one.partition(":")[0] for one in await catalogue(model, [listed()])] == ["ghost"]


def chunk(content: int = CONTENT, ordinal: int = 0, revision: int = 1) -> Chunk:
    return Chunk(id=f"d1:{revision}:{ordinal}", ordinal=ordinal, revision=revision, text=text(content).decode())


@pytest.mark.parametrize(
    ("chunks", "finding"),
    [
        ([chunk()], ""),
        ([], "lost"),
        ([chunk(), chunk()], "doubled"),
        ([chunk(), chunk(revision=2, ordinal=1)], "half"),
        ([chunk(content=CONTENT + 1)], "half"),
    ],
)
def test_a_document_that_is_not_whole_is_found(chunks: list[Chunk], finding: str) -> None:
    found = {one.partition(":")[0] for one in audit._whole(listed(chunk_count=len(chunks)), chunks, {sha256(5): 5})}
    assert finding in found if finding else not found


@pytest.mark.parametrize(
    ("spoil", "finding"),
    [
        (lambda folder: None, ""),
        (lambda folder: (folder / "blobs/uploads/one").unlink(), "lost"),
        (lambda folder: (folder / "blobs/uploads/two").touch(), "ghost"),
        (lambda folder: (folder / "spool/live/part").touch(), "ghost"),
    ],
)
def test_files_that_nobody_knows_or_that_are_missing_are_found(
    spoil: Callable[[Path], None], finding: str, tmp_path: Path
) -> None:
    (tmp_path / "blobs" / "uploads").mkdir(parents=True)
    (tmp_path / "spool" / "live").mkdir(parents=True)
    (tmp_path / "blobs" / "uploads" / "one").touch()
    rows = [("d1", "uploads/one", "")]
    spoil(tmp_path)
    assert [one.partition(":")[0] for one in storage_audit._files(tmp_path, rows, set(), ReferenceModel())] == (
        [finding] if finding else []
    )


async def test_a_lost_answer_is_tried_again_and_a_refusal_is_not() -> None:
    model = ReferenceModel()
    channel = open_channel("127.0.0.1:1", peer="edge")  # nobody is called
    caller = Caller(channel, model, "")
    answers = [Unavailable("down"), Unavailable("down"), "done"]

    async def call() -> str:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    kept_at = await caller.retry(Step(0, 0, "upload"), call)
    assert (kept_at.result, kept_at.lost) == ("done", 2)
    answers[:] = [InvalidArgument("no")]
    refused = await caller.retry(Step(0, 1, "upload"), call)
    assert isinstance(refused.error, InvalidArgument)
    answers[:] = [Unavailable("down"), "done"]
    assert (await caller.retry(Step(0, 2, "upload"), call, abandon=True)).result is None
    await channel.close()


def test_what_a_lost_call_may_have_set_is_allowed_and_nothing_else() -> None:
    value = Possible("a")
    value.maybe("b")
    assert value.allows("a")
    assert value.allows("b")
    value.acknowledged("c", lost=0)
    assert not value.allows("a")
    assert value.allows("b")  # it may come late
