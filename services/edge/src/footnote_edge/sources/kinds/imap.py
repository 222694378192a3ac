"""Mailboxes of mail servers, by IMAP over TLS. A mail never changes under its number: only new ones are fetched."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from footnote_edge.sources.kinds.imap_client import Folder
from footnote_edge.sources.kinds.mailbox import header_text, mail_file
from footnote_edge.sources.net.addresses import AddressRefused, permitted
from footnote_edge.sources.patterns import Selecting, wanted
from footnote_edge.sources.ports import (
    Item,
    ItemFailed,
    ItemGone,
    Opening,
    Page,
    Permissions,
    Remember,
    SourceKind,
    SourceRefused,
)

_PAGE = 500
_PART = 256 * 1024
_MAIL_PORTS = (993,)
Head = tuple[int, int, dict[str, str]]
"""Number, size and headers of a mail."""


class ImapSettings(Selecting):
    """Settings of an IMAP source. `include` and `exclude` match subjects."""

    host: str = Field(
        min_length=1, max_length=253, pattern=r"^[A-Za-z0-9.:-]+$", description="Name of the mail server."
    )
    port: int = Field(default=993, ge=1, le=65535, description="Its port, of IMAP over TLS.")
    username: str = Field(min_length=1, max_length=200, description="User name.")
    folder: str = Field(default="INBOX", min_length=1, max_length=500, description="Folder of the mailbox.")


class ImapSecrets(BaseModel):
    """Credentials of a mailbox."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    password: str = Field(default="", max_length=1000, description="Password, or one made for an application.")


class ImapConnection:
    """Lists and reads one folder."""

    def __init__(self, opening: Opening) -> None:
        self._settings: ImapSettings = opening.settings
        self._secrets: ImapSecrets = opening.secrets
        self._policy = opening.policy
        self._opened: Folder | None = None
        self._lock = asyncio.Lock()

    async def list(self, cursor: str, known: Remember) -> AsyncIterator[Page]:
        """Yield the mails; known ones need no request."""
        folder = await self._folder()
        numbers = await self._blocking(folder.numbers)
        validity, _, last = cursor.partition(":")
        after = int(last) if validity == str(folder.validity) and last.isdigit() else 0
        waiting = [number for number in numbers if number > after]
        for start in range(0, len(waiting), _PAGE):
            part = waiting[start : start + _PAGE]
            ids = {number: f"{folder.validity}/{number}" for number in part}
            before = await known(list(ids.values()))
            items = [self._item(ids[number], before[ids[number]].memo) for number in part if ids[number] in before]
            fresh = [number for number in part if ids[number] not in before]
            heads = await self._blocking(lambda numbers=fresh: list(folder.heads(numbers)))
            items += await asyncio.to_thread(self._items, ids, heads)
            chosen = await asyncio.to_thread(list, filter(self._wanted, items))
            yield Page(chosen, cursor=f"{folder.validity}:{part[-1]}")

    async def fetch(self, item: Item) -> AsyncIterator[bytes]:
        """Yield a mail; raises ItemGone if the server has renumbered its mails."""
        folder = await self._folder()
        validity, _, number = item.id.partition("/")
        if validity != str(folder.validity):
            raise ItemGone
        body = await self._blocking(lambda: folder.mail(int(number)))
        if body is None:
            raise ItemGone
        for start in range(0, len(body), _PART):
            yield body[start : start + _PART]

    async def close(self) -> None:
        """Close the connection."""
        if self._opened is not None:
            await asyncio.to_thread(self._opened.close)

    async def _folder(self) -> Folder:
        async with self._lock:
            if self._opened is None:
                settings, policy = self._settings, self._policy
                try:
                    addresses = await permitted(settings.host, settings.port, policy, ports=_MAIL_PORTS)
                except AddressRefused as error:
                    raise SourceRefused(str(error)) from None
                folder = Folder(settings.host, settings.port, addresses, policy.timeout, policy.item_bytes)
                self._opened = folder
                try:
                    await asyncio.to_thread(folder.open, settings.username, self._secrets.password, settings.folder)
                except BaseException:
                    self._opened = None
                    folder.close()
                    raise
            return self._opened

    async def _blocking(self, work: Any) -> Any:
        """Run one command at a time in a thread: a connection answers them in turn."""
        async with self._lock:
            return await asyncio.to_thread(work)

    def _items(self, ids: Mapping[int, str], heads: Sequence[Head]) -> Sequence[Item]:
        return [self._item(ids[number], _memo(size, head)) for number, size, head in heads if number in ids]

    def _wanted(self, item: Item) -> bool:
        return wanted(str(item.memo["subject"]), self._settings.include, self._settings.exclude)

    def _item(self, item_id: str, memo: Any) -> Item:
        size, limit = int(memo["size"]), self._policy.item_bytes
        name = str(memo["id"]).strip("<> ")
        too_large = ItemFailed("TOO_LARGE", f"It has more than {limit} bytes.", permanent=True)
        return Item(
            item_id, item_id, mail_file(str(memo["subject"])), size=size, address=f"mid:{name}" if name else "",
            memo=dict(memo), permissions=Permissions(owner=str(memo["from"])), skip=too_large if size > limit else None,
        )  # fmt: skip


def _memo(size: int, head: dict[str, str]) -> dict[str, Any]:
    lengths = (("id", "message-id", 500), ("subject", "subject", 500), ("from", "from", 300))
    return {"size": size} | {key: header_text(head.get(name, ""))[:most] for key, name, most in lengths}


IMAP = SourceKind("imap", "Mailbox of a mail server, IMAP", ImapSettings, ImapConnection, secrets=ImapSecrets)
