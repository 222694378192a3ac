"""One branch of a Git repository, read by dulwich.

A fetch takes one commit without its history, and only objects missing from the last fetch. An item is a file; its
version is the id of its blob, so that equal versions are equal bytes. Its address is the file at the commit that first
had this version, and stays while the file is unchanged.
"""

import asyncio
import shutil
import threading
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from dulwich.config import ConfigFile
from dulwich.errors import GitProtocolError, HangupException, NotGitRepository
from dulwich.object_store import MaxTreeDepthExceeded, iter_tree_contents
from dulwich.repo import Repo

from footnote_edge.sources.kinds.git import PORTS, GitSecrets, GitSettings, SshPlace, checked_host_key
from footnote_edge.sources.kinds.git_folder import leads_out
from footnote_edge.sources.kinds.git_http import TIMEOUT_SECONDS, GitHttp, HeldBack, PackLimit
from footnote_edge.sources.kinds.git_ssh import GitSsh, refusal
from footnote_edge.sources.net.addresses import AddressRefused, permitted
from footnote_edge.sources.net.client import Client, checked
from footnote_edge.sources.patterns import file_name, wanted
from footnote_edge.sources.ports import (
    Item,
    ItemFailed,
    ItemGone,
    Known,
    Opening,
    Page,
    Remember,
    SourceRefused,
    SourceUnavailable,
)

_PAGE = 500
_MOST_PACKS = 30
"""Maximum packs in a cache; beyond that everything is fetched again."""
_SMALL = 16 * 1024 * 1024
"""Bytes of packs that are rewritten after a change, without what has left the branch: seconds of a thread."""
_COPIES = 6
"""Copies of a pack for which the disk needs room: three while it is fetched, by two sources at once."""
_DAY = 24 * 3600.0
"""Seconds after which a larger cache that has changed is fetched again."""
MOST_ENTRIES = 1_000_000
"""Maximum files and folders of a commit; one walks through them in 10 seconds."""
_DEEPEST = 500
_FILE_MODES = frozenset({0o100644, 0o100755, 0o100664})
_HEAD = b"refs/heads/footnote"
_FORGES = {
    "github.com": "{url}/blob/{commit}/{path}",
    "gitlab.com": "{url}/-/blob/{commit}/{path}",
    "codeberg.org": "{url}/src/commit/{commit}/{path}",
    "bitbucket.org": "{url}/src/{commit}/{path}",
}


class GitConnection:
    """Lists and reads one branch."""

    def __init__(self, opening: Opening) -> None:
        self._settings: GitSettings = opening.settings
        self._secrets: GitSecrets = opening.secrets
        self._opening = opening
        self._client = Client(opening.policy)
        self._repo: Repo | None = None
        self._lock = threading.Lock()
        self._opened = asyncio.Lock()
        self._commit = b""

    async def list(self, cursor: str, known: Remember) -> AsyncIterator[Page]:
        """Yield the files of the branch's latest commit."""
        await self._ready(fresh=True)
        files, partial = await asyncio.to_thread(self._files)
        for start in range(0, len(files), _PAGE):
            part = files[start : start + _PAGE]
            before = await known([path for path, _ in part])
            yield Page([self._item(path, blob, before.get(path)) for path, blob in part])
        if partial:
            yield Page(partial=partial)

    async def fetch(self, item: Item) -> AsyncIterator[bytes]:
        """Yield a file's bytes, fetched with the commit; raises ItemGone if the cache has lost them."""
        await self._ready(fresh=False)
        try:
            yield await asyncio.to_thread(self._blob, item.version)
        except KeyError:
            raise ItemGone from None

    async def close(self) -> None:
        """Close files and connections."""
        await self._client.close()
        if self._repo is not None:
            self._repo.close()

    async def _ready(self, *, fresh: bool) -> None:
        """Open the repository, with the branch up to date if `fresh`."""
        async with self._opened:
            if self._repo is not None and not fresh:
                return
            if self._repo is not None:
                self._repo.close()
            url = self._settings.url
            if "://" not in url or url.startswith("file://"):
                await asyncio.to_thread(self._open_local, url.removeprefix("file://"))
            elif url.startswith("ssh://"):
                await self._fetch_ssh()
            else:
                checked_url(url)
                await self._fetch_remote(asyncio.get_running_loop())

    def _open_local(self, path: str) -> None:
        policy = self._opening.policy
        allowed = policy.folder_for(self._opening.tenant_id, path)
        if allowed is None:
            raise SourceRefused("The operator does not allow sources to read this repository.")
        try:
            if leads_out(allowed, lambda real: policy.folder_for(self._opening.tenant_id, str(real)) is not None):
                raise SourceRefused("The repository has parts outside the folders that the operator allows.")
            self._repo = _LocalRepo(str(allowed))
            self._commit = self._branch({bytes(name): bytes(sha) for name, sha in self._repo.get_refs().items()})
        except (NotGitRepository, OSError, RuntimeError):  # a RuntimeError is a loop of links
            raise SourceUnavailable("There is no Git repository.") from None

    async def _fetch_remote(self, loop: asyncio.AbstractEventLoop) -> None:
        limit, folder = await asyncio.to_thread(self._pack_limit), self._opening.folder
        pair = self._secrets.username, self._secrets.password
        http = GitHttp(self._settings.url, self._client, loop, limit, *pair, folder)
        try:
            await asyncio.to_thread(self._fetch_into, http, folder / "git")
        except HeldBack as held:
            raise held.error from None
        except NotGitRepository:
            raise SourceRefused(
                "There is no Git repository at this address, or these secrets give no access to it."
            ) from None
        except (GitProtocolError, HangupException, OSError, EOFError) as error:
            raise SourceUnavailable(f"The repository gave an invalid response: {type(error).__name__}.") from None
        except ItemFailed as error:
            raise SourceRefused(str(error)) from None
        finally:
            http.drop()

    async def _fetch_ssh(self) -> None:
        place, policy = SshPlace(self._settings.url), self._opening.policy
        try:
            addresses = await permitted(place.host, place.port, policy, ports=PORTS)
        except AddressRefused as error:
            raise SourceRefused(str(error)) from None
        key, limit = checked_host_key(self._settings.host_key), await asyncio.to_thread(self._pack_limit)
        secret, folder = self._secrets.private_key, self._opening.folder
        ssh = GitSsh(folder / "ssh", place, addresses, key, secret, policy.timeout, limit)
        fetching = asyncio.create_task(asyncio.to_thread(self._fetch_by, ssh, folder / "git", place.path))
        try:
            await asyncio.wait_for(asyncio.shield(fetching), TIMEOUT_SECONDS)
        except HeldBack as held:
            raise held.error from None
        except HangupException as error:
            raise refusal(error.stderr_lines or ()) or SourceUnavailable("The host closed the connection.") from None
        except NotGitRepository:
            raise SourceRefused("There is no Git repository at this path, or this key gives no access to it.") from None
        except (GitProtocolError, OSError, EOFError) as error:
            raise SourceUnavailable(f"The repository gave an invalid response: {type(error).__name__}.") from None
        finally:
            await asyncio.to_thread(ssh.end)  # ends the program, and with it the thread that reads from it
            await asyncio.wait([fetching])

    def _pack_limit(self) -> PackLimit:
        """Return how much a fetch may send, so that the disk has room for its copies and those of a second fetch."""
        folder = self._opening.folder
        folder.mkdir(parents=True, exist_ok=True)
        most, room = self._opening.policy.item_bytes * 20, shutil.disk_usage(folder).free // _COPIES
        if most <= room:
            return PackLimit(most, f"The repository is larger than {most} bytes, 20 times the largest item.")
        return PackLimit(room, f"The repository needs more than {room} bytes, which is what the disk has room for.")

    def _fetch_by(self, ssh: GitSsh, folder: Path, path: str) -> None:
        """Fetch, and delete the key here: a cancellation does not end a thread."""
        with closing(ssh):
            self._fetch_into(ssh, folder, path)

    def _fetch_into(self, client: Any, folder: Path, path: str = "") -> None:
        repo = _cache(folder)
        try:
            found: dict[bytes, bytes] = {}

            def want(refs: Any, depth: int | None = None) -> Any:
                found.update({name: sha for name, sha in refs.items() if sha is not None})
                commit: Any = self._branch(found)
                return [] if commit in repo.object_store else [commit]

            result = client.fetch(path, repo, determine_wants=want, depth=1)
            found.update({name: sha for name, sha in result.refs.items() if sha is not None})
            self._commit = self._branch(found)
            repo.refs[_HEAD] = self._commit  # type: ignore[index,assignment]
            packs = _packs(folder)
            if len(packs) > 1 and sum(pack.stat().st_size for pack in packs) <= _SMALL:
                repo = _pruned(repo, folder, self._commit)
        except BaseException:
            with suppress(BufferError):  # the error's frames may hold parts of a pack
                repo.close()
            _remove_unfinished(folder)
            raise
        self._repo = repo

    def _branch(self, refs: dict[bytes, bytes]) -> bytes:
        name = self._settings.branch
        wanted_ref = f"refs/heads/{name}".encode() if name else b"HEAD"
        commit = refs.get(wanted_ref)
        if commit is None:
            raise HeldBack(
                SourceRefused(f"The repository has no branch {name!r}." if name else "It has no commit yet.")
            )
        return commit

    def _files(self) -> tuple[Sequence[tuple[str, str]], str]:
        """Return paths and blobs, and what is missing of them: few objects can unfold to any number of entries."""
        assert self._repo is not None
        files: list[tuple[str, str]] = []
        with self._lock:
            commit: Any = self._repo[self._commit]
            tree = iter_tree_contents(self._repo.object_store, commit.tree, include_trees=True, max_depth=_DEEPEST)
            try:
                for seen, entry in enumerate(tree):
                    if seen >= MOST_ENTRIES:
                        return files, f"The repository has more than {MOST_ENTRIES} files and folders."
                    if entry.mode not in _FILE_MODES:
                        continue  # folders, submodules, and links, which may lead anywhere
                    path = entry.path.decode("utf-8", "replace")
                    if wanted(path, self._settings.include, self._settings.exclude):
                        files.append((path, entry.sha.decode("ascii")))
                    if len(files) > self._opening.policy.items:
                        break  # the run says so
            except MaxTreeDepthExceeded:
                return files, f"The repository has folders deeper than {_DEEPEST} levels."
        return files, ""

    def _blob(self, blob: str) -> bytes:
        assert self._repo is not None
        with self._lock:
            found: Any = self._repo[blob.encode("ascii")]
        return bytes(found.data)

    def _item(self, path: str, blob: str, before: Known | None) -> Item:
        commit = self._commit.decode("ascii")
        if before is not None and before.version == blob:
            commit = str(before.memo.get("commit", commit))
        return Item(path, blob, file_name(path), address=self._address(commit, path), memo={"commit": commit})

    def _address(self, commit: str, path: str) -> str:
        url = self._settings.url.removesuffix("/").removesuffix(".git")
        parts = urlsplit(url)
        form = self._settings.address or _FORGES.get(parts.hostname or "", "")
        if form:
            return form.replace("{url}", url).replace("{commit}", commit).replace("{path}", quote(path))
        return f"{url}#{commit}:{quote(path)}" if parts.scheme in ("http", "https") else f"{commit}:{path}"


class _LocalRepo(Repo):
    """A repository of the server, whose configuration includes no other files: they may lie anywhere."""

    def get_config(self) -> ConfigFile:
        """Return the repository's own configuration."""
        try:
            return ConfigFile.from_path(Path(self.commondir()) / "config", expand_includes=False)
        except FileNotFoundError:
            return ConfigFile()


def checked_url(url: str) -> None:
    """Raise SourceRefused for an address that is not a web address."""
    try:
        checked(url)
    except ItemFailed as error:
        raise SourceRefused(str(error)) from None


def _cache(folder: Path) -> Repo:
    """Return the bare repository that caches fetched objects; a damaged, overgrown or old one is created again."""
    _remove_unfinished(folder)
    try:
        repo = Repo(str(folder))
        packs = _packs(folder)
        since = min((pack.stat().st_mtime for pack in packs), default=0.0)
        if len(packs) <= 1 or (len(packs) <= _MOST_PACKS and abs(time.time() - since) < _DAY):
            return repo
        repo.close()
    except (NotGitRepository, OSError, ValueError):
        pass
    return _new(folder)


def _new(folder: Path) -> Repo:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return Repo.init_bare(str(folder))


def _packs(folder: Path) -> Sequence[Path]:
    return list((folder / "objects" / "pack").glob("*.pack"))


def _pruned(repo: Repo, folder: Path, commit: Any) -> Repo:
    """Return the cache with the objects of one commit alone: files that were removed stay nowhere."""
    beside = folder.with_name(f"{folder.name}-pruned")

    def want(refs: Any, depth: int | None = None) -> Any:
        return [commit]

    try:
        with closing(_new(beside)) as kept:
            repo.fetch(kept, determine_wants=want, depth=1)
            kept.refs[_HEAD] = commit  # type: ignore[index]
    except Exception as error:  # a damaged cache, of any kind: the next run begins anew
        shutil.rmtree(folder, ignore_errors=True)
        raise GitProtocolError("the cache is damaged") from error
    repo.close()
    shutil.rmtree(folder)
    beside.rename(folder)
    return Repo(str(folder))


def _remove_unfinished(folder: Path) -> None:
    """Remove what a fetch leaves that was killed or found the disk full; no other fetches into the folder."""
    shutil.rmtree(folder.with_name(f"{folder.name}-pruned"), ignore_errors=True)
    for left in [*(folder / "objects").glob("tmp_pack_*"), *folder.rglob("*.lock")]:
        left.unlink(missing_ok=True)
