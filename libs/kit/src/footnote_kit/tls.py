"""TLS and mTLS from the settings."""

import ssl

import grpc

from footnote_kit.settings import KitSettings


def server_credentials(settings: KitSettings) -> grpc.ServerCredentials | None:
    """Return what a server listens with; None for plain text. OSError when a file cannot be read."""
    if settings.tls_cert_file is None or settings.tls_key_file is None:
        return None
    authorities = settings.tls_ca_file.read_bytes() if settings.tls_client_auth and settings.tls_ca_file else None
    return grpc.ssl_server_credentials(
        [(settings.tls_key_file.read_bytes(), settings.tls_cert_file.read_bytes())],
        root_certificates=authorities,
        require_client_auth=settings.tls_client_auth,
    )


def server_context(settings: KitSettings) -> ssl.SSLContext | None:
    """Return the same for a server that is not gRPC's own but speaks HTTP/2; OSError when a file is no good."""
    if settings.tls_cert_file is None or settings.tls_key_file is None:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.options |= ssl.OP_NO_RENEGOTIATION
    context.set_alpn_protocols(["h2"])
    # A key that needs a password is refused, not asked for on the terminal.
    context.load_cert_chain(settings.tls_cert_file, settings.tls_key_file, password="")
    if settings.tls_client_auth:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(settings.tls_ca_file)
    return context


def channel_credentials(settings: KitSettings) -> grpc.ChannelCredentials | None:
    """Return what a client connects with; None for plain text. OSError when a file cannot be read."""
    if settings.tls_ca_file is None and settings.tls_cert_file is None:
        return None
    authorities = settings.tls_ca_file.read_bytes() if settings.tls_ca_file else None
    if settings.tls_client_auth and settings.tls_cert_file and settings.tls_key_file:
        return grpc.ssl_channel_credentials(
            authorities, settings.tls_key_file.read_bytes(), settings.tls_cert_file.read_bytes()
        )
    return grpc.ssl_channel_credentials(authorities)
