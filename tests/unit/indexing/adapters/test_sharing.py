"""What the database lists for a caller is what the rule lets it read: every kind of caller and of collection."""

from collections.abc import AsyncIterator
from itertools import product
from pathlib import Path
from typing import Any, cast

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from footnote.stages.v1.scope_pb2 import Scope
from footnote.types.v1.collection_pb2 import ACCESS_READ, ACCESS_WRITE, VISIBILITY_PRIVATE, Collection, Grant
from footnote_indexing.adapters import sharing
from footnote_indexing.adapters.collection_table import CollectionTable
from footnote_indexing.adapters.database import MIGRATIONS, Database
from footnote_indexing.adapters.tables import collections, index_versions, metadata
from footnote_indexing.collections import rules
from footnote_indexing.collections.collections import Collections
from footnote_kit import access
from footnote_kit.errors import InvalidArgument
from sqlalchemy import Connection
from support import postgres

USERS, GROUPS, TENANTS = ("ann", "bob", "g"), ("g", "h"), ("t", "u")
SHARED_WITH: list[list[Grant]] = [
    [],
    [Grant(user_id="ann", access=ACCESS_READ)],
    [Grant(user_id="bob", access=ACCESS_WRITE)],
    [Grant(group="g", access=ACCESS_READ)],
    [Grant(group="h", access=ACCESS_WRITE)],
    [Grant(user_id="ann", access=ACCESS_READ), Grant(group="g", access=ACCESS_WRITE)],
    [Grant(user_id="g", access=ACCESS_WRITE), Grant(group="h", access=ACCESS_READ)],
]
SCOPES = [
    Scope(tenant_id=tenant, user_id=user, roles=roles, groups=groups)
    for tenant, user, roles, groups in product(
        (*TENANTS, ""), (*USERS, ""), ([], [0], [1], [2], [3], [4], [9], [1, 2]), ([], ["g"], ["h"], ["g", "h"])
    )
]


@pytest.fixture(params=["sqlite", "postgresql"])
async def database(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Database]:
    """An empty database of indexing: SQLite, then PostgreSQL."""
    url = ""
    if request.param == "postgresql":
        url = await postgres.new_database(request.getfixturevalue("postgres_url"))
    opened = Database(url, tmp_path)
    await opened.migrate()
    yield opened
    await opened.close()


async def filled(database: Database) -> list[Collection]:
    made = [
        Collection(
            id=f"{tenant}-{visibility}-{owner}-{number}", name=f"{visibility}-{number}", tenant_id=tenant,
            owner_id=owner, visibility=visibility, grants=grants,
        )
        for tenant, visibility, owner, (number, grants) in product(
            TENANTS, (0, 1, 2, 9), ("ann", "bob"), list(enumerate(SHARED_WITH))
        )
    ]  # fmt: skip
    async with database.write() as connection:
        for one in made:
            row = {
                "id": one.id, "tenant_id": one.tenant_id, "name": one.name, "owner_id": one.owner_id,
                "visibility": one.visibility, "holder": one.id, "index_version": 1, "version": 1,
                "data": Collection(grants=one.grants).SerializeToString(), "created_at": 0, "updated_at": 0,
            }  # fmt: skip
            await connection.execute(sa.insert(collections).values(row))
            await sharing.write_grants(connection, one.id, one.grants)
    return made


@pytest.mark.slow
async def test_the_database_lists_what_the_rule_lets_read(database: Database) -> None:
    made = await filled(database)
    nothing = cast(Any, None)
    book = Collections(CollectionTable(database, nothing), *[nothing] * 4)
    everybody = cast(list[Scope], SCOPES if database.dialect == "sqlite" else SCOPES[::7])
    for scope in everybody:
        expected = {one.id: access.access_of(scope, one) for one in made if access.access_of(scope, one)}
        async with database.read() as connection:
            query = sa.select(collections.c.id).where(sharing.visible(scope))
            assert set((await connection.execute(query)).scalars()) == set(expected), scope
        found = await book.authorize(scope, [])
        assert {one.id: access.access_of(scope, one) for one in found} == expected, scope
    some = [made[3].id, made[-1].id, "nothing"]
    for scope in everybody[::5]:
        named = {one.id for one in await book.authorize(scope, some)}
        assert named == {one.id for one in made if one.id in some and access.access_of(scope, one)}
    with pytest.raises(InvalidArgument, match="at most 1000"):
        await book.authorize(everybody[0], ["x"] * 1001)


def test_a_name_means_the_nearest_collection() -> None:
    caller = Scope(tenant_id="t", user_id="ann", groups=["g"])
    private = {"tenant_id": "t", "visibility": VISIBILITY_PRIVATE}
    near = [
        Collection(id="x", owner_id="bob", **private),  # type: ignore[arg-type]
        Collection(id="1", owner_id="ann", **private),  # type: ignore[arg-type]
        Collection(id="2", tenant_id="t", owner_id="bob"),
        Collection(id="3", owner_id="bob", grants=[Grant(group="g")], **private),  # type: ignore[arg-type]
        Collection(id="4", owner_id="bob", grants=[Grant(user_id="eve")], **private),  # type: ignore[arg-type]
    ]
    assert [rules.nearness(caller, one, "x") for one in near] == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    ("grants", "problem"),
    [
        ([Grant(access=ACCESS_READ)], r"grants\[0\] must name a user_id or a group"),
        ([Grant(user_id="a b")], r"grants\[0\]\.user_id must be 1 to 128"),
        ([Grant(user_id="")], r"grants\[0\]\.user_id must be"),
        ([Grant(group="g"), Grant(group="a b")], r"grants\[1\]\.group must be 1 to 128"),
        ([Grant(group="g", access=7)], r"access has no value 7"),  # type: ignore[arg-type]
        (
            [Grant(group="g"), Grant(user_id="g"), Grant(group="g", access=ACCESS_WRITE)],
            r"\[2\] names a user or group a seco",
        ),
        ([Grant(user_id=f"u{n}") for n in range(101)], "at most 100"),
    ],
)
def test_grants_that_cannot_be_kept_are_refused(grants: list[Grant], problem: str) -> None:
    with pytest.raises(InvalidArgument, match=problem):
        rules.check_grants(Collection(visibility=VISIBILITY_PRIVATE, grants=grants))


def test_grants_are_completed_and_refused_where_everybody_sees() -> None:
    good = Collection(visibility=VISIBILITY_PRIVATE, grants=[Grant(user_id="g"), Grant(group="/teams/hr")])
    rules.check_grants(good)
    assert [grant.access for grant in good.grants] == [ACCESS_READ, ACCESS_READ]
    with pytest.raises(InvalidArgument, match="are for private collections"):
        rules.check_grants(Collection(grants=good.grants))


async def test_migrations_make_the_tables_that_the_code_knows(database: Database) -> None:
    def compare(connection: Connection) -> list[Any]:
        context = MigrationContext.configure(connection, opts={"version_table": "indexing_alembic_version"})
        return compare_metadata(context, metadata)

    async with database.read() as connection:
        assert await connection.run_sync(compare) == []


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
async def test_collections_of_an_older_version_keep_their_names(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    url = "" if kind == "sqlite" else await postgres.new_database(request.getfixturevalue("postgres_url"))
    database = Database(url, tmp_path)

    def begin(connection: Connection) -> None:
        MIGRATIONS.upgrade(connection, "0001")
        old = sa.Table("indexing_collections", sa.MetaData(), autoload_with=connection)
        for name, visibility in (("open", 1), ("closed", 2)):
            row = {
                "id": name, "tenant_id": "t", "name": name, "owner_id": "ann", "visibility": visibility,
                "generation": 1, "version": 1, "data": b"", "created_at": 0, "updated_at": 0,
            }  # fmt: skip
            connection.execute(sa.insert(old).values(row))

    async with database.write() as connection:
        await connection.run_sync(begin)
    await database.migrate()
    async with database.read() as reading:
        rows = (await reading.execute(sa.select(collections.c.name, collections.c.holder))).all()
        assert dict(tuple(row) for row in rows) == {"open": "", "closed": "ann"}
        assert not (await reading.execute(sa.select(index_versions))).all()
        again = sa.select(collections).where(collections.c.name == "open")
        stored = (await reading.execute(again)).one()
        twin = {column.key: getattr(stored, column.key) for column in collections.c} | {"id": "twin"}
    async with database.write() as writing:
        with pytest.raises(sa.exc.IntegrityError):
            await writing.execute(sa.insert(collections).values(twin))
    await database.close()
