"""TLS to a PostgreSQL server, asked for in its URL in libpq's words: sslmode, sslrootcert, sslcert, sslkey.

The job ledger's driver is libpq itself and reads them there; for ours they are read here, so that all mean the same.
What would have no effect is refused. Files that are replaced serve the next connection.
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
"""PostgreSQL's, of a caller without a certificate too; and the driver's, of a server that closed at once, which is what
is left of a refusal whose words came too late to be read."""
_MODE, _ROOT, _CERT, _KEY = NAMES = ("sslmode", "sslrootcert", "sslcert", "sslkey")

Secured = Callable[[], ssl.SSLContext | str]
"""Asked at each connection: what the driver is to do."""


def without(url: URL) -> URL:
    """Return a URL without what it says of TLS, which our driver would not understand."""
    return url.difference_update_query(NAMES)


def asked(url: URL) -> Secured | None:
    """Return what a URL asks for, None where it says nothing. FailedPrecondition for what cannot be, or cannot work."""
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
        # A key that needs a password is refused, not asked for on the terminal.
        context.load_cert_chain(said[_CERT], said[_KEY], password="")
    return context


def refused(url: URL, error: BaseException) -> Unavailable | None:
    """Return the error for a connection on which the two did not come to trust each other, None for other failures."""
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
    """Yield an error and those that it came of; a driver tells of a connection that ended, and TLS before it why."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _why(error: Exception) -> str:
    if isinstance(error, OSError) and error.filename:
        return f"{error.filename}: {error.strerror}"
    return str(getattr(error, "reason", "") or error)
