"""Lists of documents at the stage: every filter and order against what Python says, pages while others write."""

from __future__ import annotations

import asyncio
import dataclasses
import itertools
import random
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import closing, suppress
from typing import Any
from uuid import uuid4

import pytest
import pytest_asyncio
from footnote.stages.v1.scope_pb2 import Scope
from footnote.stages.v1.stored_document_pb2 import Document
from footnote.types.v1.role_pb2 import ROLE_SYSTEM
from footnote_ingestion.adapters.changes import alive
from footnote_ingestion.adapters.listing import _beyond
from footnote_ingestion.adapters.rows import BYTES
from footnote_ingestion.adapters.schema import documents
from footnote_ingestion.app import build
from footnote_ingestion.model.values import ORDERS, Order
from footnote_kit.errors import InvalidArgument
from footnote_kit.paging import Page
from footnote_kit.testing import Served, serve_app
from google.protobuf.timestamp_pb2 import Timestamp
from sqlalchemy import func, select
from sqlalchemy.dialects import sqlite
from support import postgres
from support.ingestion_client import Client

pytestmark = [pytest.mark.full, pytest.mark.asyncio(loop_scope="module")]

NAMES = ("b.txt", "B.txt", "Ärger.md", "ärger.md", "z.csv", "a a.txt", "_.txt", "日本.txt", "😀.md", "ß" * 250 + ".txt")
TAGS = ((), ("x",), ("x", "y"), ("y", "x y"), ('"x"', "ü"), ("y", "x", "z"))


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=["sqlite", "postgres"])
async def served(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Served]:
    """One running service on each database."""
    with pytest.MonkeyPatch.context() as environment:
        if request.param == "postgres":
            url = await postgres.migrated_database(request.getfixturevalue("postgres_url"), "ingestion")
            environment.setenv("FOOTNOTE_INGESTION_DATABASE_URL", url)
        async with serve_app(build, data_dir=tmp_path_factory.mktemp("data")) as running:
            yield running


@pytest.fixture
def client(served: Served) -> Client:
    """A client of its own tenant."""
    return Client(served, Scope(tenant_id=uuid4().hex, user_id="u", roles=[ROLE_SYSTEM]))


async def fill(client: Client, count: int) -> list[Document]:
    """Upload texts of all names, tags and sizes; some are of another type or language, or changed later."""
    for number in range(count):
        data = b"Text %d." % number + b" word" * (number % 3)
        name = NAMES[number % len(NAMES)]
        await client.upload(data, name, "ab"[number % 2], tags=TAGS[number % len(TAGS)])
    found = list((await client.list(page_size=1000)).documents)
    for document in found[::3]:
        moved = await client.move(document.id, 2)
        await client.move(document.id, parsed={"language": ("en", "fr")[moved.size_bytes % 2]})
    return list((await client.list(page_size=1000)).documents)


KEYS: dict[str, Callable[[Document], Any]] = {
    "create_time": lambda one: one.create_time.ToMicroseconds(),
    "filename": lambda one: one.filename.casefold(),
    "size_bytes": lambda one: one.size_bytes,
    "update_time": lambda one: one.update_time.ToMicroseconds(),
}


def sort(documents: list[Document], order: str) -> list[str]:
    """Return ids in an order."""
    field, _, way = (order or "create_time desc").partition(" ")
    done = sorted(documents, key=lambda one: (KEYS[field](one), one.id), reverse=way == "desc")
    return [one.id for one in done]


async def pages(client: Client, size: int, **query: Any) -> list[str]:
    """Return the ids on all pages."""
    found: list[str] = []
    token = ""
    while True:
        page = await client.list(page_size=size, page_token=token, **query)
        found += [one.id for one in page.documents]
        if not (token := page.next_page_token):
            return found


async def test_every_order_is_the_same_on_every_database_and_page_size(client: Client) -> None:
    documents = await fill(client, 24)
    for order, size in itertools.product(("", *ORDERS), (5, 1000)):
        assert await pages(client, size, order_by=order) == sort(documents, order), (order, size)
        of_a = [one for one in documents if one.collection_id == "a"]
        assert await pages(client, size, order_by=order, collection_ids=["a"]) == sort(of_a, order), (order, size)


async def test_every_filter_and_each_two_of_them_find_what_they_should(client: Client) -> None:
    documents = await fill(client, 36)
    times = sorted(one.create_time.ToMicroseconds() for one in documents)
    early, late = Timestamp(), Timestamp()
    early.FromMicroseconds(times[10])
    late.FromMicroseconds(times[30])
    between = Timestamp(seconds=early.seconds, nanos=early.nanos + 1)  # not the tenth any more
    filters: list[tuple[dict[str, Any], Callable[[Document], bool]]] = [
        ({"tags": ["x"]}, lambda one: "x" in one.tags),
        ({"tags": ["y", " x ", "x"]}, lambda one: {"x", "y"} <= set(one.tags)),
        ({"tags": ['"x"']}, lambda one: '"x"' in one.tags),
        ({"tags": ["none"]}, lambda one: False),
        ({"document_types": ["MD", "csv"]}, lambda one: one.document_type in ("md", "csv")),
        ({"languages": ["EN"]}, lambda one: one.language == "en"),
        ({"created_after": early}, lambda one: one.create_time.ToMicroseconds() >= times[10]),
        ({"created_after": between}, lambda one: one.create_time.ToMicroseconds() > times[10]),
        ({"created_before": late}, lambda one: one.create_time.ToMicroseconds() < times[30]),
        ({"filename_contains": "Ä"}, lambda one: "ä" in one.filename.lower()),
        ({"states": [2]}, lambda one: one.state == 2),
        ({"collection_ids": ["a"]}, lambda one: one.collection_id == "a"),
    ]
    some = 0
    for (one, fits), (other, fits_too) in itertools.combinations_with_replacement(filters, 2):
        if one.keys() & other.keys() and one != other:
            continue
        wanted = [document for document in documents if fits(document) and fits_too(document)]
        some += 0 < len(wanted) < len(documents)
        order = ("", *ORDERS)[some % (len(ORDERS) + 1)]
        assert await pages(client, 9, **{**one, **other}, order_by=order) == sort(wanted, order), (one, other)
        assert (await client.list(**{**one, **other})).total_size == len(wanted), (one, other)
    assert some > 20


@pytest.mark.parametrize("order", sorted(ORDERS))
@pytest.mark.parametrize("size", [1, 5])
async def test_what_stays_as_it_is_comes_exactly_once_while_others_write(client: Client, order: str, size: int) -> None:
    chance = random.Random(f"{order} {size}")
    stable = [(await client.upload(b"stable %d" % one, NAMES[one % len(NAMES)])).document.id for one in range(12)]
    others = [(await client.upload(b"other %d" % one, NAMES[one % len(NAMES)])).document.id for one in range(6)]
    done = asyncio.Event()

    async def write() -> None:
        number = 0
        while not done.is_set():
            number += 1
            name, what = chance.choice(NAMES), chance.randrange(3)
            if what == 0 or not others:
                others.append((await client.upload(b"more %d" % number * chance.randrange(1, 9), name)).document.id)
            elif what == 1:
                await client.delete(others.pop(chance.randrange(len(others))))
            else:
                await client.replace(chance.choice(others), b"again %d" % number * chance.randrange(1, 9), name)

    writer = asyncio.create_task(write())
    try:
        for _ in range(1 if size == 1 else 2):
            found = await pages(client, size, order_by=order)
            assert [found.count(one) for one in stable] == [1] * len(stable)
            kept = [one for one in found if one in stable]
            documents = [await client.get(one) for one in stable]
            assert kept == sort(documents, order)
    finally:
        done.set()
        await writer


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *(("order_by", one) for one in ("name", "filename asc", "filename  desc", "FILENAME", "id", "x" * 200)),
        *((name, value) for name in ("tags", "document_types", "languages") for value in ([""], ["x" * 201])),
        ("tags", [str(one) for one in range(101)]),
        ("states", [0]),
    ],
)
async def test_what_means_nothing_is_refused_by_name(client: Client, field: str, value: Any) -> None:
    with pytest.raises(InvalidArgument) as caught:
        await client.list(**{field: value})
    assert [one.field for one in caught.value.violations] == [field]
    if field == "order_by":
        assert all(one in caught.value.message for one in ORDERS)


async def test_a_token_belongs_to_its_order_and_its_filters(client: Client) -> None:
    await fill(client, 4)
    token = (await client.list(page_size=1, order_by="filename")).next_page_token
    for other in ({"order_by": "size_bytes"}, {}, {"order_by": "filename", "tags": ["x"]}):
        with pytest.raises(InvalidArgument, match="another request"):
            await client.list(page_size=1, page_token=token, **other)


async def test_lists_of_a_collection_are_read_from_an_index(served: Served, client: Client) -> None:
    """Ask the database how it would answer, where it can be asked without a server: no sorting, no whole table."""
    path = served.runtime.data_dir / "ingestion" / "documents.db"
    if not path.exists():
        pytest.skip("PostgreSQL chooses by its statistics")
    of_collection = (documents.c.tenant_id == "t", documents.c.collection_id == "c")
    cases = [(of_collection, name) for name in ("create_time", "filename_folded", "size_bytes", "update_time")]
    for where, name in [*cases, ((documents.c.state == "indexed",), "create_time")]:
        column = documents.c[name]
        page = dataclasses.replace(Page.first(), position=(1 if name != "filename_folded" else "x", "y"))
        beyond = _beyond(column, Order(name, descending=True), page)
        query = select(documents).where(*where, alive(), beyond).order_by(column.desc(), documents.c.id.desc())
        said = query.limit(101).compile(dialect=sqlite.dialect(), compile_kwargs={"literal_binds": True})
        with closing(sqlite3.connect(path)) as connection:
            plan = " ".join(row[-1] for row in connection.execute(f"explain query plan {said}"))
        assert "USING INDEX" in plan, (name, plan)
        assert f"({name},id)<(?,?)" in plan, (name, plan)
        assert "TEMP B-TREE" not in plan, (name, plan)


async def test_what_a_limit_counts_is_read_from_an_index_alone(served: Served) -> None:
    path = served.runtime.data_dir / "ingestion" / "documents.db"
    if not path.exists():
        pytest.skip("PostgreSQL chooses by its statistics")
    query = select(func.count(), func.sum(BYTES)).where(documents.c.tenant_id == "t", alive())
    backlog = select(func.count()).select_from(documents).where(documents.c.state == "INDEXED", alive())
    for narrowed, index in (
        (query, "counted"), (query.where(documents.c.collection_id == "c"), "counted"), (backlog, "alive"),
    ):  # fmt: skip
        said = narrowed.compile(dialect=sqlite.dialect(), compile_kwargs={"literal_binds": True})
        with closing(sqlite3.connect(path)) as connection:
            plan = " ".join(row[-1] for row in connection.execute(f"explain query plan {said}"))
        assert f"COVERING INDEX documents_{index}" in plan, plan


async def test_a_zero_byte_of_a_caller_is_no_fault(client: Client) -> None:
    for number, about in enumerate(
        (
            {"filename": "a\0b.txt"},
            {"tags": ["x\0y"]},
            {"metadata": {"k\0": "v\0", "deep": {"list": ["\0"]}}},
            {"source_type": "s\0"},
            {"collection": "c\0"},
        )
    ):
        with suppress(InvalidArgument):
            taken = (await client.upload(b"text %d" % number, **about)).document
            assert (await client.get(taken.id)).id == taken.id
    for asked in ({"tags": ["\0"]}, {"filename_contains": "\0"}, {"document_types": ["\0"]}, {"languages": ["\0"]}):
        with suppress(InvalidArgument):
            await client.list(**asked)
