"""TLS and mTLS from the settings."""

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
