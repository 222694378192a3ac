"""Limits of single tenants over the public API: permissions to see and change them, by gRPC, HTTP and command."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import httpx2
import pytest
from footnote.edge.v1 import limits_pb2 as pb
from footnote.types.v1.role_pb2 import ROLE_ADMIN, ROLE_READER
from footnote_cli.main import app as command
from footnote_edge.app import build
from footnote_edge.offline import keys as offline
from footnote_kit.edge import EdgeStub
from footnote_kit.errors import InvalidArgument, PermissionDenied
from footnote_kit.testing import Served, serve_app
from support.doubles.stages import World, serve_doubles
from typer.testing import CliRunner, Result

pytestmark = pytest.mark.full

PEOPLE = {
    "admin": ("acme", ROLE_ADMIN), "reader": ("acme", ROLE_READER), "operator": ("ops", ROLE_ADMIN),
    "crew": ("ops", ROLE_READER),
}  # fmt: skip


class Place:
    """A served edge with keys, whose operators are the administrators of ops."""

    def __init__(self, served: Served, keys: dict[str, str], folder: Path) -> None:
        self.stub, self.keys, self.folder = EdgeStub(served.channel), keys, folder
        self.address, self.http = served.address, f"http://{served.runtime.announced['http']}"

    def as_(self, who: str) -> Any:
        return (("authorization", f"Bearer {self.keys[who]}"),)

    async def get(self, who: str, tenant: str = "") -> pb.TenantAllowance:
        request = pb.GetTenantLimitsRequest(tenant_id=tenant)
        return (await self.stub.GetTenantLimits(request, metadata=self.as_(who))).allowance

    async def set(self, who: str, tenant: str, mask: tuple[str, ...] = (), **limits: Any) -> pb.TenantAllowance:
        request = pb.UpdateTenantLimitsRequest(tenant_id=tenant, resource=pb.TenantAllowance(**limits))
        request.update_mask.paths.extend(mask)
        return (await self.stub.UpdateTenantLimits(request, metadata=self.as_(who))).allowance

    async def listed(self, who: str, **page: Any) -> pb.ListTenantLimitsResponse:
        found: pb.ListTenantLimitsResponse = await self.stub.ListTenantLimits(
            pb.ListTenantLimitsRequest(**page), metadata=self.as_(who)
        )
        return found


@pytest.fixture
async def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Place]:
    """Edge with people of two tenants and an operator."""
    monkeypatch.setenv("FOOTNOTE_EDGE_AUTH", "keys")
    monkeypatch.setenv("FOOTNOTE_EDGE_OPERATOR_TENANT", "ops")
    monkeypatch.setenv("FOOTNOTE_EDGE_MAX_DOCUMENTS_PER_TENANT", "50")
    database, keys = await offline(tmp_path)
    made = {name: (await keys.create(name, tenant, name, role))[1] for name, (tenant, role) in PEOPLE.items()}
    await database.close()
    async with serve_doubles(World()) as stages, serve_app(build, addresses=stages, data_dir=tmp_path) as served:
        yield Place(served, made, tmp_path)


async def test_an_operator_sets_clears_and_lists(place: Place) -> None:
    assert await place.get("operator", "acme") == await place.get("admin")
    made = await place.set("operator", "acme", documents=7, cost_usd_per_day=2.5)
    assert (made.tenant_id, made.documents, made.cost_usd_per_day) == ("acme", 7, 2.5)
    assert made.effective.documents == 7
    assert made.HasField("update_time")
    assert not made.HasField("bytes")
    again = await place.set("operator", "acme", bytes=0)
    assert (again.documents, again.HasField("bytes"), again.bytes) == (7, True, 0)
    assert await place.get("admin") == await place.get("admin", "acme") == again
    await place.set("operator", "beta", collections=1)
    listed = await place.listed("operator")
    assert [(one.tenant_id, one.documents, one.collections) for one in listed.allowances] == [
        ("acme", 7, 0), ("beta", 0, 1),
    ]  # fmt: skip
    first = await place.listed("operator", page_size=1)
    second = await place.listed("operator", page_size=1, page_token=first.next_page_token)
    assert [one.tenant_id for one in (*first.allowances, *second.allowances)] == ["acme", "beta"]
    assert not second.next_page_token
    cleared = await place.set("operator", "acme", mask=("documents", "bytes", "cost_usd_per_day"))
    assert not cleared.HasField("documents")
    assert cleared.effective.documents == 50, "the deployment's holds again"
    assert [one.tenant_id for one in (await place.listed("operator")).allowances] == ["beta"]


@pytest.mark.parametrize("who", ["admin", "reader", "crew"])
async def test_nobody_else_does(place: Place, who: str) -> None:
    calls: list[Callable[[], Any]] = [
        lambda: place.set(who, "acme", documents=1),
        lambda: place.listed(who),
        lambda: place.get(who, "beta"),
        lambda: place.get(who, "ops" if who == "admin" else "acme"),
    ]
    for call in calls:
        with pytest.raises(PermissionDenied) as caught:
            await call()
        if who == "admin":
            assert caught.value.reason == "OPERATOR_ONLY"
    if who == "admin":
        assert (await place.get(who)).effective.documents == 50, "its own it may see"
    assert not (await place.listed("operator")).allowances


@pytest.mark.parametrize(
    ("limits", "mask", "field"),
    [
        ({"documents": -1}, (), "resource.documents"),
        ({"cost_usd_per_day": float("nan")}, (), "resource.cost_usd_per_day"),
        ({"cost_usd_per_day": float("inf")}, (), "resource.cost_usd_per_day"),
        ({}, (), "resource"),
        ({"documents": 1}, ("tenant_id",), "update_mask"),
    ],
)
async def test_wrong_values_are_refused_by_name(place: Place, limits: Any, mask: Any, field: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        await place.set("operator", "acme", mask=mask, **limits)
    assert [one.field for one in caught.value.violations] == [field]
    with pytest.raises(InvalidArgument) as caught:
        await place.set("operator", "no tenant", documents=1)
    assert [one.field for one in caught.value.violations] == ["tenant_id"]


async def test_http_and_the_command_do_the_same(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    async with httpx2.AsyncClient(base_url=place.http, headers=dict(place.as_("operator"))) as http:
        made = await http.patch("/v1/limits/acme", json={"documents": "3"}, params={"update_mask": "documents,bytes"})
        assert made.status_code == 200, made.text
        assert (await http.get("/v1/limits/acme")).json()["allowance"]["documents"] == "3"
        assert [one["tenant_id"] for one in (await http.get("/v1/limits")).json()["allowances"]] == ["acme"]
        refused = await http.patch("/v1/limits/acme", json={"documents": "9"}, headers=dict(place.as_("admin")))
        assert (refused.status_code, refused.json()["reason"]) == (403, "OPERATOR_ONLY")

    monkeypatch.setenv("COLUMNS", "120")

    async def run(who: str, *arguments: str) -> Result:
        whole = [*arguments, "--address", place.address, "--api-key", place.keys[who]]
        return await asyncio.to_thread(CliRunner().invoke, command, whole)

    assert json.loads((await run("operator", "limits", "set", "acme", "--bytes", "0", "--json")).stdout) == {
        "tenant_id": "acme", "documents": 3, "bytes": 0,
    }  # fmt: skip
    assert json.loads((await run("admin", "limits", "show", "--json")).stdout)["documents"] == 3
    assert "none" in (await run("operator", "limits", "list")).stdout
    assert "any more" in (await run("operator", "limits", "clear", "acme")).stdout
    assert "anyway" in (await run("operator", "limits", "clear", "acme")).stdout
    denied = await run("admin", "limits", "set", "acme", "--documents", "1")
    assert denied.exit_code == 1
    assert "operator" in denied.stderr

    listed = await run("admin", "audit", "list", "--action", "UpdateTenantLimits", "--outcome", "refused")
    assert "OPERATOR_ONLY" in listed.stdout, listed
    lines = (await run("admin", "audit", "export", "--action", "UpdateTenantLimits")).stdout.splitlines()
    events = [json.loads(line) for line in lines]
    assert {event["outcome"] for event in events} == {"AUDIT_OUTCOME_SUCCEEDED", "AUDIT_OUTCOME_REFUSED"}
    assert (await run("admin", "audit", "list", "--all-tenants")).exit_code == 1
    assert json.loads((await run("operator", "audit", "list", "--all-tenants", "--json")).stdout)["events"]
    assert (await run("reader", "audit", "list")).exit_code == 1
    assert (await run("admin", "audit", "list", "--outcome", "odd")).exit_code == 2


async def test_where_nobody_is_known_every_administrator_operates(tmp_path: Path) -> None:
    async with serve_doubles(World()) as stages, serve_app(build, addresses=stages, data_dir=tmp_path) as served:
        stub = EdgeStub(served.channel)
        request = pb.UpdateTenantLimitsRequest(tenant_id="acme", resource=pb.TenantAllowance(documents=1))
        await stub.UpdateTenantLimits(request)
        with pytest.raises(PermissionDenied):
            await stub.UpdateTenantLimits(request, metadata=(("x-footnote-role", "writer"),))
        assert [one.tenant_id for one in (await stub.ListTenantLimits(pb.ListTenantLimitsRequest())).allowances] == [
            "acme"
        ]
