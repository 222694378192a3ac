"""The real services, in one process and as seven: the same path from a document to a footnoted answer, in one trace."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from footnote.edge.v1.answers_pb2 import AskRequest
from footnote.edge.v1.collections_pb2 import CreateCollectionRequest
from footnote.edge.v1.documents_pb2 import UploadDocumentRequest, UploadMetadata, WatchDocumentRequest
from footnote.edge.v1.system_pb2 import GetHealthRequest, GetTraceRequest
from footnote.telemetry.v1.telemetry_service_pb2 import TraceSpan
from footnote.types.v1 import answer_pb2, collection_pb2, document_pb2
from footnote_cli.folder import read_addresses
from footnote_kit.clients import check_health, check_trust, open_channel
from footnote_kit.edge import EdgeStub
from footnote_kit.settings import STAGES, KitSettings
from grpc_health.v1.health_pb2 import HealthCheckRequest, HealthCheckResponse
from grpc_health.v1.health_pb2_grpc import HealthStub
from support.base_environment import inherited
from support.certificates import Authority

pytestmark = pytest.mark.full

TEXT = b"# Handbook\n\n## Holidays\n\nEveryone has 31 days of paid holiday a year.\n"


@asynccontextmanager
async def served(folder: Path, target: str, **settings: str) -> AsyncIterator[None]:
    """Run `footnote serve TARGET` on free ports until the block ends; the end must be orderly."""
    environment = {**inherited("OTEL_"), "PYTHONPATH": os.pathsep.join(sys.path), **settings}
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "footnote_cli.main", "serve", target, "--data-dir", str(folder), "--port-base", "0",
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE, env=environment,
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stderr is not None
    log = asyncio.create_task(process.stderr.read())
    try:
        line = (await asyncio.wait_for(process.stdout.readline(), 90)).decode()
        assert line.startswith("footnote is "), (await log).decode()
        yield
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGTERM)
        try:
            await asyncio.wait_for(process.wait(), 60)
        except TimeoutError:
            process.kill()
            await process.wait()
        errors = (await log).decode()
        await process.stdout.read()
    assert process.returncode == 0, errors
    assert "Traceback" not in errors, errors


@asynccontextmanager
async def one_process(folder: Path) -> AsyncIterator[KitSettings]:
    async with served(folder, "all", FOOTNOTE_PROCESSES="1"):
        yield KitSettings()


@asynccontextmanager
async def several_processes(folder: Path) -> AsyncIterator[KitSettings]:
    async with served(folder, "all", FOOTNOTE_PROCESSES="3"):
        yield KitSettings()


@asynccontextmanager
async def several_processes_with_mtls(folder: Path) -> AsyncIterator[KitSettings]:
    authority = Authority(folder, "ours")
    known = KitSettings(tls_ca_file=authority.file, tls_client_auth=True, **authority.issue("client"))
    files = authority.issue("server") | {"tls_ca_file": authority.file}
    settings = {f"FOOTNOTE_{name.upper()}": str(path) for name, path in files.items()}
    async with served(folder, "all", FOOTNOTE_PROCESSES="3", FOOTNOTE_TLS_CLIENT_AUTH="true", **settings):
        for stage in STAGES:
            async with open_channel(read_addresses(folder)[stage], stage, KitSettings()) as stranger:
                assert await check_health(stranger, stage) == f"The {stage} service does not answer"
        yield known


@asynccontextmanager
async def seven_processes(folder: Path) -> AsyncIterator[KitSettings]:
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(served(folder, "store"))
        known: dict[str, str] = {}  # the engine and the services' secret are found in the folder
        # Services are started before their callers, so that addresses are known.
        for stage in ("ingestion", "indexing", "retrieval", "augmentation", "generation", "edge"):
            await stack.enter_async_context(served(folder, stage, **known))
            known[f"FOOTNOTE_{stage.upper()}_ADDRESS"] = read_addresses(folder)[stage]
        yield KitSettings()


@asynccontextmanager
async def seven_processes_with_mtls(folder: Path) -> AsyncIterator[KitSettings]:
    """No secret is shared: each service knows the others by the names in their certificates."""
    authority = Authority(folder, "ours")
    ours = {"FOOTNOTE_TLS_CA_FILE": str(authority.file), "FOOTNOTE_TLS_CLIENT_AUTH": "true"}
    known = KitSettings(tls_ca_file=authority.file, tls_client_auth=True, **authority.issue("client"))
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(served(folder, "store"))
        for stage in ("ingestion", "indexing", "retrieval", "augmentation", "generation", "edge"):
            files = {f"FOOTNOTE_{name.upper()}": str(path) for name, path in authority.issue(stage).items()}
            await stack.enter_async_context(served(folder, stage, FOOTNOTE_TLS_PEERS="edge,retrieval", **files, **ours))
            ours[f"FOOTNOTE_{stage.upper()}_ADDRESS"] = address = read_addresses(folder)[stage]
            if stage != "edge":
                # The authority's certificate lets it connect; that makes it no service.
                async with open_channel(address, stage, known) as stranger:
                    assert await check_health(stranger, stage) != f"The {stage} service does not answer"
                    assert "FOOTNOTE_TLS_PEERS" in str(await check_trust(stranger))
        assert not (folder / "service.token").exists()
        yield known


async def wait_ready(folder: Path, settings: KitSettings) -> None:
    addresses = read_addresses(folder)
    for stage in STAGES:
        async with asyncio.timeout(240), open_channel(addresses[stage], stage, settings) as channel:
            async for answer in HealthStub(channel).Watch(HealthCheckRequest()):
                if answer.status == HealthCheckResponse.SERVING:
                    break


async def upload() -> AsyncIterator[UploadDocumentRequest]:
    yield UploadDocumentRequest(metadata=UploadMetadata(collection="handbooks", filename="handbook.md"))
    yield UploadDocumentRequest(data=TEXT)


def edges(spans: list[TraceSpan]) -> set[tuple[str, str]]:
    """Return (service, service) of every parent and child in different services, and (service, "milvus")."""
    by_id = {span.span_id: span for span in spans}
    found = set()
    for span in spans:
        parent = by_id.get(span.parent_span_id)
        if span.name.startswith("milvus"):
            found.add((span.service, "milvus"))
        elif parent is not None and parent.service != span.service:
            found.add((parent.service, span.service))
    return {(one.removeprefix("footnote-"), other.removeprefix("footnote-")) for one, other in found}


@pytest.mark.slow
@pytest.mark.parametrize(
    "mode",
    [one_process, several_processes, several_processes_with_mtls, seven_processes, seven_processes_with_mtls],
)
async def test_a_document_goes_in_and_a_footnoted_answer_comes_out_in_one_trace(tmp_path: Path, mode: Any) -> None:
    async with mode(tmp_path) as settings:
        await wait_ready(tmp_path, settings)
        async with open_channel(read_addresses(tmp_path)["edge"], "edge", settings) as channel:
            edge = EdgeStub(channel)
            await edge.CreateCollection(CreateCollectionRequest(collection=collection_pb2.Collection(name="handbooks")))
            document = (await edge.UploadDocument(upload())).document
            states = []
            async for seen in edge.WatchDocument(WatchDocumentRequest(document_id=document.id), timeout=60):
                states.append(seen.document.state)
                if seen.document.state in (document_pb2.DOCUMENT_STATE_INDEXED, document_pb2.DOCUMENT_STATE_ERROR):
                    break
            assert states[-1] == document_pb2.DOCUMENT_STATE_INDEXED
            question = "How many days of paid holiday does everyone have?"
            events = [event async for event in edge.Ask(AskRequest(question=question), timeout=60)]
            done = events[-1].completed
            assert "31 days" in done.answer.text
            assert done.answer.finish_reason == answer_pb2.FINISH_REASON_ANSWERED
            assert [citation.quote for citation in done.answer.citations]
            health = await edge.GetHealth(GetHealthRequest())
            told = {part.name for part in health.components if part.HasField("event_loop_lag")}
            assert told == set(STAGES), "each says how long it held callers up, wherever on this machine it runs"
            trace = await edge.GetTrace(GetTraceRequest(trace_id=done.trace_id))
            assert list(trace.missing) == []
            assert edges(list(trace.spans)) >= {
                ("edge", "retrieval"), ("edge", "augmentation"), ("edge", "generation"),
                ("retrieval", "indexing"), ("retrieval", "milvus"),
            }  # fmt: skip
            ids = [span.span_id for span in trace.spans]
            assert len(ids) == len(set(ids))
