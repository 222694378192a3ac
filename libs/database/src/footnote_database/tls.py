"""TLS to a PostgreSQL server, configured in its URL with libpq's names: sslmode, sslrootcert, sslcert, sslkey.

The job ledger's driver is libpq, which reads these parameters itself. This module reads them for asyncpg, so that
they mean the same for both. A parameter without effect is refused. Replaced files apply to the next connection.
"""

import ssl
from collections.abc import Callable, Iterator
from pathlib import Path

from footnote_kit.errors import FailedPrecondition, Unavailable
from footnote_kit.tls import Renewed
from footnote_kit.transient_errors import DATABASE, unavailable
from sqlalchemy import URL

MODES = ("disable", "allow", "prefer", "require", "verify-ca", "verify-full")
_CHECKED = ("verify-ca", "verify-full")
_SYSTEM = "system"
_NOT_PROVEN = ("28000", "08003")
"""Codes of a missing or rejected client certificate. The first is PostgreSQL's. The second is the driver's, for a
server that closed at once, because its refusal arrived too late to be read."""
_MODE, _ROOT, _CERT, _KEY = NAMES = ("sslmode", "sslrootcert", "sslcert", "sslkey")

Secured = Callable[[], ssl.SSLContext | str]
"""Called for each connection; returns asyncpg's `ssl` argument."""


def without(url: URL) -> URL:
    """Return a URL without its TLS parameters, which asyncpg would not understand."""
    return url.difference_update_query(NAMES)


def asked(url: URL) -> Secured | None:
    """Return the TLS setting of a URL; None when it has none. FailedPrecondition for an invalid or useless one."""
    said = {name: str(url.query[name]) for name in NAMES if name in url.query}
    if not said:
        return None
    mode = said.get(_MODE, "")
    if mode not in MODES:
        raise FailedPrecondition(f"The PostgreSQL URL needs sslmode to be one of {', '.join(MODES)}")
    if (_CERT in said) != (_KEY in said):
        raise FailedPrecondition("sslcert and sslkey of the PostgreSQL URL belong together")
    if _ROOT in said and mode not in _CHECKED:
        raise FailedPrecondition(f"sslrootcert of the PostgreSQL URL has no effect with sslmode={mode}")
    if mode in _CHECKED and _ROOT not in said:
        raise FailedPrecondition(
            f"sslmode={mode} of the PostgreSQL URL needs sslrootcert, a file of authorities, or {_SYSTEM} for this "
            "machine's"
        )
    if mode in ("disable", "allow", "prefer"):
        if _CERT in said:
            raise FailedPrecondition(f"sslcert of the PostgreSQL URL may have no effect with sslmode={mode}")
        return lambda: mode
    named = tuple(Path(said[name]) for name in (_ROOT, _CERT, _KEY) if name in said and said[name] != _SYSTEM)
    try:
        return Renewed(named, lambda: _context(mode, said)).now
    except (OSError, ValueError) as error:
        raise FailedPrecondition(f"A certificate of the PostgreSQL URL is no good: {_why(error)}") from error


def _context(mode: str, said: dict[str, str]) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.check_hostname = mode == "verify-full"
    if mode not in _CHECKED:
        context.verify_mode = ssl.CERT_NONE
    elif said[_ROOT] == _SYSTEM:
        context.load_default_certs()
    else:
        context.load_verify_locations(said[_ROOT])
    if _CERT in said:
        # A key with a password is refused, so that no prompt appears on the terminal.
        context.load_cert_chain(said[_CERT], said[_KEY], password="")
    return context


def refused(url: URL, error: BaseException) -> Unavailable | None:
    """Return the error for a connection that failed because of a certificate; None for other failures."""
    where = f"{url.host}:{url.port or 5432}"
    for one in _chain(error):
        if isinstance(one, ssl.SSLCertVerificationError):
            message = f"The certificate of the PostgreSQL server {where} is not accepted: {one.verify_message}"
            return unavailable(f"{message}. See sslrootcert and the host in its URL", DATABASE)
        if isinstance(one, ssl.SSLError) or getattr(one, "sqlstate", "") in _NOT_PROVEN:
            why = one.reason or "it hangs up" if isinstance(one, ssl.SSLError) else str(one)
            message = f"The PostgreSQL server {where} refuses this certificate, or that there is none: {why}"
            return unavailable(f"{message}. See sslcert in its URL", DATABASE)
    return None


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error and its causes: the driver reports a closed connection, and the TLS error before it the reason."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _why(error: Exception) -> str:
    if isinstance(error, OSError) and error.filename:
        return f"{error.filename}: {error.strerror}"
    return str(getattr(error, "reason", "") or error)
