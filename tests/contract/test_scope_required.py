"""Every RPC of every internal service refuses a call without a scope before its handler runs."""

from collections.abc import AsyncIterator
from importlib import import_module

import pytest
from footnote.stages.v1.scope_pb2 import Scope
from footnote_kit.edge import METHODS
from footnote_kit.errors import InvalidArgument, Unauthenticated
from footnote_kit.testing import SCOPE, serve_app
from google.protobuf.message import Message
from support.complete_requests import call, complete
from support.doubles.services import STAGES, contract, contracts, empty_stage, upkeep

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("stage", STAGES)
async def test_every_rpc_needs_a_scope(stage: str) -> None:
    _, service = contract(stage)
    reached: list[str] = []
    half = [None, Scope(user_id="u"), Scope(tenant_id="t")]
    async with serve_app(empty_stage(stage, reached)) as served:
        for method in service.methods:
            for scope in half:
                with pytest.raises(Unauthenticated) as caught:
                    await call(served.channel, service.full_name, method, complete(method, scope))
                assert caught.value.reason == "SCOPE_MISSING", method.full_name
        assert reached == []
        for method in service.methods:
            await call(served.channel, service.full_name, method, complete(method, SCOPE))
        assert reached == [method.name for method in service.methods]


@pytest.mark.parametrize("stage", STAGES)
async def test_every_rpc_of_the_real_services_needs_a_scope(stage: str) -> None:
    _, service = contract(stage)
    build = import_module(f"footnote_{stage}.app").build
    # Nothing answers at the other stages' addresses: no call may get as far as needing them.
    nowhere = dict.fromkeys((*STAGES, "edge"), "127.0.0.1:1")
    async with serve_app(build, addresses=nowhere, vector_store_uri="http://127.0.0.1:1") as served:
        for method in [*service.methods, *upkeep(stage)]:
            for scope in (None, Scope(user_id="u"), Scope(tenant_id="t")):
                with pytest.raises(Unauthenticated) as caught:
                    await call(served.channel, method.containing_service.full_name, method, complete(method, scope))
                assert caught.value.reason == "SCOPE_MISSING", method.full_name


@pytest.mark.parametrize("stage", STAGES)
def test_every_request_has_a_scope_field(stage: str) -> None:
    _, service = contract(stage)
    for method in service.methods:
        field = method.input_type.fields_by_name.get("scope")
        assert field is not None, method.full_name
        assert field.message_type.full_name == "footnote.stages.v1.Scope", method.full_name


async def test_a_stream_without_any_message_is_refused_in_the_right_words() -> None:
    async def silence() -> AsyncIterator[Message]:
        return
        yield

    for stage in (*STAGES, "edge"):
        reached: list[str] = []
        async with serve_app(empty_stage(stage, reached)) as served:
            for _, service in contracts(stage):
                for method in (method for method in service.methods if method.client_streaming):
                    kind = Unauthenticated if stage != "edge" else InvalidArgument
                    with pytest.raises(kind, match="ended before"):
                        await call(served.channel, service.full_name, method, silence())
        assert reached == []


def test_edge_takes_no_scope_from_outside() -> None:
    assert not [method.name for method in METHODS if "scope" in method.input_type.fields_by_name]


def test_names_of_the_public_rpcs_are_unique_among_services() -> None:
    names = [method.name for method in METHODS]
    assert len(names) == len(set(names))
