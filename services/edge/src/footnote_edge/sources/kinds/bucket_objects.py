"""The objects of one bucket, listed and read by obstore.

Only the source's own credentials are used, never the deployment's. Endpoints other than the provider's own need the
operator's permission, since obstore resolves names by itself.
"""

import asyncio
import os
from collections.abc import AsyncIterator, Sequence
from typing import Any
from urllib.parse import quote, urlsplit

from obstore.exceptions import BaseError, NotFoundError, PermissionDeniedError, UnauthenticatedError
from obstore.store import AzureStore, GCSStore, ObjectStore, S3Store

from footnote_edge.sources.kinds.bucket import BucketSecrets, BucketSettings
from footnote_edge.sources.patterns import file_name, wanted
from footnote_edge.sources.ports import (
    Item,
    ItemGone,
    Opening,
    Page,
    Remember,
    SourceRefused,
    SourceUnavailable,
)

_PAGE = 1000
_OWN = {"gcs": ("GOOGLE_", "GCS_", "GCLOUD_"), "azure": ("AZURE_", "AZURITE_", "MSI_", "IDENTITY_")}
"""Prefixes of environment variables that obstore reads."""


class BucketConnection:
    """Lists and reads one bucket."""

    def __init__(self, opening: Opening) -> None:
        self._settings: BucketSettings = opening.settings
        self._secrets: BucketSecrets = opening.secrets
        self._opening = opening
        self._opened: ObjectStore | None = None

    async def list(self, cursor: str, known: Remember) -> AsyncIterator[Page]:
        """Yield the objects, from the key in `cursor` on: a crash repeats at most a page."""
        prefix = self._settings.prefix.strip("/")
        try:
            stream = self._store().list(prefix or None, offset=cursor or None, chunk_size=_PAGE)
            async for found in stream:
                last = str(found[-1]["path"]) if found else cursor
                yield Page(await asyncio.to_thread(self._items, found), cursor=last)
        except (BaseError, OSError) as error:
            raise _failure(error) from None

    async def fetch(self, item: Item) -> AsyncIterator[bytes]:
        """Yield an object's bytes."""
        try:
            found = await self._store().get_async(item.id)
            async for part in found.stream(min_chunk_size=256 * 1024):
                yield bytes(part)
        except (NotFoundError, FileNotFoundError):
            raise ItemGone from None
        except (BaseError, OSError) as error:
            raise _failure(error) from None

    async def close(self) -> None:
        """Nothing to close."""

    def _items(self, found: Sequence[Any]) -> Sequence[Item]:
        return [self._item(one) for one in found if self._wanted(str(one["path"]), int(one["size"]))]

    def _wanted(self, key: str, size: int) -> bool:
        folder = key.endswith("/") and not size
        return not folder and wanted(key, self._settings.include, self._settings.exclude)

    def _item(self, found: Any) -> Item:
        key = str(found["path"])
        stamp = found["last_modified"].isoformat()
        version = str(found.get("e_tag") or f"{stamp}-{found['size']}").strip('"')
        base = self._settings.base_address
        address = f"{base}{quote(key)}" if base else self._address(key, found.get("version"))
        return Item(key, version, file_name(key), size=int(found["size"]), address=address)

    def _address(self, key: str, version: str | None) -> str:
        scheme = {"s3": "s3", "gcs": "gs", "azure": "az"}[self._settings.provider]
        return f"{scheme}://{self._settings.bucket}/{quote(key)}" + (f"?versionId={quote(version)}" if version else "")

    def _store(self) -> ObjectStore:
        if self._opened is None:
            self._opened = self._open()
        return self._opened

    def _open(self) -> ObjectStore:
        settings, secrets = self._settings, self._secrets
        seconds = f"{self._opening.policy.timeout:.0f}s"
        client: Any = {"timeout": seconds, "connect_timeout": seconds, "user_agent": self._opening.policy.user_agent}
        retries: Any = {"max_retries": 2}
        if settings.provider == "s3":
            if settings.endpoint:
                self._check_endpoint()
                client["allow_http"] = settings.endpoint.startswith("http://")
            # Every option is explicit, since obstore takes missing ones from the deployment's environment.
            return S3Store(
                settings.bucket,
                region=settings.region,
                endpoint=settings.endpoint or f"https://s3.{settings.region}.amazonaws.com",
                virtual_hosted_style_request=False,
                skip_signature=not secrets.access_key_id,
                credential_provider=self._credentials if secrets.access_key_id else None,
                client_options=client,
                retry_config=retries,
            )
        self._check_environment()
        if settings.provider == "gcs":
            key = secrets.service_account_key
            config: dict[str, Any] = {"service_account_key": key} if key else {"skip_signature": True}
            return GCSStore(settings.bucket, client_options=client, retry_config=retries, **config)
        config = {"account_key": secrets.account_key} if secrets.account_key else {"skip_signature": True}
        return AzureStore(
            settings.bucket, account_name=settings.account, client_options=client, retry_config=retries, **config
        )

    def _credentials(self) -> Any:
        keys = {"access_key_id": self._secrets.access_key_id, "secret_access_key": self._secrets.secret_access_key}
        return {**keys, "token": None, "expires_at": None}

    def _check_environment(self) -> None:
        """Refuse if obstore would mix the deployment's own credentials or endpoints into the source's."""
        own = sorted(name for name in os.environ if name.startswith(_OWN[self._settings.provider]))
        if own:
            raise SourceRefused(
                f"The deployment has credentials of its own for this provider ({', '.join(own[:3])}); "
                "the operator has to run edge without them."
            )

    def _check_endpoint(self) -> None:
        policy = self._opening.policy
        try:
            parts = urlsplit(self._settings.endpoint)
            host, port = parts.hostname or "", parts.port or (80 if parts.scheme == "http" else 443)
        except ValueError:
            raise SourceRefused("The endpoint is not a valid address.") from None
        listed = bool(policy.hosts) and policy.allows_name(host)
        if parts.scheme not in ("http", "https") or not host or not (listed or policy.is_private_host(host, port)):
            raise SourceRefused(f"The operator does not allow sources to reach the endpoint {host[:100]}.")


def _failure(error: Exception) -> Exception:
    if isinstance(error, PermissionDeniedError | UnauthenticatedError | PermissionError):
        return SourceRefused("The bucket refuses the credentials, or has none of this name.")
    if isinstance(error, NotFoundError | FileNotFoundError):
        return SourceUnavailable("There is no bucket of this name.")
    if "empty path segment" in str(error):
        return SourceRefused("The bucket holds keys with an empty part (a//b), which end its list: give a prefix.")
    # obstore's message may quote addresses with their parameters.
    return SourceUnavailable(f"The bucket does not answer: {type(error).__name__}.")
