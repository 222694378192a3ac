"""Diagnoses a deployment, served or not, and repairs what can be repaired without loss."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

from footnote_database.parts import Parts
from footnote_kit import private
from footnote_kit.clients import check_health, open_channel
from footnote_store import folder_check

from footnote_cli.admin import logs, machine, stores
from footnote_cli.admin.deployment import STORE, deployment_of, engine_answers
from footnote_cli.admin.findings import Finding, broken, ok, warning
from footnote_cli.errors import CommandError
from footnote_cli.folder import ADDRESSES, FolderInUse, locked, read_addresses
from footnote_cli.targets import STATEFUL


async def examine(folder: Path) -> list[Finding]:
    """Return the findings for the absolute path of a data folder, dependencies first."""
    on_machine = await asyncio.to_thread(lambda: list(_machine(folder)))
    return [*on_machine, *[finding async for finding in _stored_data(folder)]]


def _machine(folder: Path) -> Iterator[Finding]:
    yield from machine.versions()
    yield from machine.folder(folder)
    if folder.is_dir():
        yield from machine.space(folder)
        yield from machine.clock(folder)


async def _stored_data(folder: Path) -> AsyncIterator[Finding]:
    if not await asyncio.to_thread(folder.is_dir):
        return
    try:
        deployment = deployment_of(folder)
    except CommandError as error:
        yield broken("settings", error.message, error.hint)
        return
    yield ok("settings", "all can be read")
    for one in (*machine.certificates(deployment.settings), *machine.servers(deployment)):
        yield one
    async for one in stores.databases(deployment):
        yield one
    async for one in logs.examine(deployment):
        yield one
    for one in await asyncio.to_thread(lambda: [*stores.samples(deployment), *stores.files(deployment)]):
        yield one
    damaged = list(stores.engine(deployment))
    for one in damaged:
        yield one
    if not damaged:
        async for one in stores.rows(deployment):
            yield one
    async for one in _services(folder):
        yield one


async def _services(folder: Path) -> AsyncIterator[Finding]:
    """Examine the services that serve from a folder."""
    addresses = read_addresses(folder)
    if not addresses:
        yield ok("services", "none serves from this folder now")
        return
    served = _in_use(folder)
    if served is None:
        yield warning(
            "services",
            f"{ADDRESSES} names services that have ended",
            "Start them again: footnote serve all; or remove it: footnote admin doctor --repair",
        )
        return
    for name in sorted(STATEFUL & addresses.keys()):
        async with open_channel(addresses[name], peer=name) as channel:
            problem = await check_health(channel, name)
        if problem is None:
            yield ok(name, f"serves at {addresses[name]}")
        else:
            yield broken(name, f"{addresses[name]}: {problem}", "See its log, and: footnote health")


def _in_use(folder: Path) -> str | None:
    """Return the process that serves from a folder, as text; None for none."""
    try:
        with locked(folder, STATEFUL):
            return None
    except FolderInUse as error:
        return str(error)
    except OSError:
        return None  # the folder has a finding of its own


def repair(folder: Path, found: list[Finding]) -> list[str]:
    """Repair what can be repaired without loss; return what was done. CommandError while services run.

    A store that is damaged or another installation's is moved aside, never deleted; its content is indexed again.
    """
    place = folder
    served = _in_use(place)
    if served is not None:
        raise CommandError(served, "Repairs need the services to be stopped.")
    private.keep()
    deployment, done = deployment_of(place), []
    states = {(one.check, one.state) for one in found}
    if ("data folder", "warning") in states:
        private.tighten(place)
        done.append(f"took {place} and what is in it from others")
    if ("services", "warning") in states:
        (place / ADDRESSES).unlink(missing_ok=True)
        done.append(f"took {ADDRESSES} away, which services that have ended had left")
    if (stores.STORE, "broken") in states and not deployment.settings.vector_store_uri and _may_be_rebuilt(found):
        if engine_answers(place):
            raise CommandError("The vector engine of this folder runs.", "Stop it first.")
        aside = place / f"{STORE}.aside-{int(time.time())}"
        (place / STORE).rename(aside)
        Parts(place, {folder_check.PART.name}).begin(folder_check.PART)
        done.append(f"put the store aside as {aside.name}: documents are indexed again at the next start")
    return done


def _may_be_rebuilt(found: list[Finding]) -> bool:
    """Return whether the databases for rebuilding a store are intact, and the fault is the store's own."""
    store = next(one for one in found if one.check == stores.STORE and one.state == "broken")
    whole = all(one.state != "broken" for one in found if one.check.endswith(" database"))
    return whole and ("is damaged" in store.found or "another installation" in store.found)
