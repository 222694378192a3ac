"""mTLS between all processes: refused callers, and certificates that change under load and during a watch."""

import asyncio
import ssl
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from footnote.edge.v1.answers_pb2 import SearchRequest
from footnote.edge.v1.documents_pb2 import WatchDocumentsRequest
from footnote_kit.clients import check_health, open_channel
from footnote_kit.settings import STAGES, KitSettings
from support.certificates import Authority, Place
from support.deployment import Deployment
from support.edge_client import edge_client

pytestmark = [pytest.mark.full, pytest.mark.slow, pytest.mark.timeout(300)]
SEARCH = SearchRequest(query="travel allowance", collections=["default"])


def http(address: str, caller: Place | None, authority: Path) -> int:
    """Return the status of a request over HTTPS; OSError where no connection is made."""
    context = ssl.create_default_context(cafile=authority)
    if caller is not None:
        context.load_cert_chain(caller.values["tls_cert_file"], caller.values["tls_key_file"])
    with urllib.request.urlopen(f"https://{address}/v1/collections", context=context, timeout=20) as answer:
        return int(answer.status)


async def test_all_processes_speak_mtls_and_their_certificates_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, new = Authority(tmp_path, "old"), Authority(tmp_path, "new")
    service, caller = Place(tmp_path, "service").put(old), Place(tmp_path, "caller").put(old)
    for name, value in caller.env.items():
        monkeypatch.setenv(name, value)
    folder = tmp_path / "data"
    folder.mkdir(mode=0o700)
    # Connections have a maximum age of two seconds, so that each step is met by new handshakes.
    env = {**service.env, "FOOTNOTE_TLS_PEERS": "service", "FOOTNOTE_MAX_CONNECTION_AGE": "2"}
    running = Deployment(folder, separate=True, env=env)
    try:
        running.spawn()
        await running._serving()
        wrong = {
            "expired": Place(tmp_path, "expired").put(old, minutes=-1),
            "foreign": Place(tmp_path, "foreign").put(new, old),
        }
        for stage in STAGES:
            async with open_channel(running.address(stage), stage, caller.settings) as channel:
                assert await check_health(channel, stage, 10) is None, stage
            for settings in (
                *(one.settings for one in wrong.values()),
                KitSettings(tls_ca_file=old.file, tls_cert_file=None, tls_key_file=None, tls_client_auth=False),
            ):
                async with open_channel(running.address(stage), stage, settings) as channel:
                    assert await check_health(channel, stage, 10) is not None, (stage, settings)
        where = running.address("http")
        assert await asyncio.to_thread(http, where, caller, old.file) == 200
        for one in (*wrong.values(), None):
            with pytest.raises((OSError, urllib.error.URLError)):
                await asyncio.to_thread(http, where, one, old.file)

        done, ended = 0, asyncio.Event()
        async with edge_client(running.address()) as client:
            await client.put(b"The daily travel allowance is 38 euros.", "allowance.txt")

            async def search() -> None:
                nonlocal done
                while not ended.is_set():
                    assert (await client.stub.Search(SEARCH, timeout=60)).chunks
                    done += 1

            seen: set[str] = set()

            async def watch() -> None:
                stream = client.stub.WatchDocuments(WatchDocumentsRequest(collection="default"), timeout=300)
                async for told in stream:
                    seen.add(told.changed.document.filename)
                    if "after.txt" in seen:
                        return

            callers = [asyncio.create_task(search()) for _ in range(3)]
            watcher = asyncio.create_task(watch())
            for house, trusted in ((old, (old, new)), (new, (old, new)), (new, (new,))):
                for place in (service, caller):
                    place.put(house, *trusted)
                await asyncio.sleep(6)
            ended.set()
            await asyncio.gather(*callers)
            assert not watcher.done()
            await client.put(b"The weekly travel allowance is 190 euros.", "after.txt")
            await asyncio.wait_for(watcher, 30)
        print(f"{done} searches, none failed")
        assert done >= 10
        assert await asyncio.to_thread(http, where, caller, new.file) == 200
        late = Place(tmp_path, "late").put(old, new)
        for stage in STAGES:
            async with open_channel(running.address(stage), stage, late.settings) as channel:
                assert await check_health(channel, stage, 10) is not None, stage
    finally:
        await asyncio.to_thread(running.stop)
