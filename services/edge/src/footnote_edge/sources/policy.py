"""The operator's limits for sources: hosts, networks, folders, and amounts."""

import contextlib
import ipaddress
from dataclasses import dataclass, field
from pathlib import Path

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


@dataclass(frozen=True, slots=True)
class Policy:
    """Limits of one deployment. By default public addresses only, and no folder of the server."""

    hosts: tuple[str, ...] = ()
    """Hosts that sources may reach, `*.example.org` with all subdomains; empty means every public one."""
    private_hosts: frozenset[str] = frozenset()
    """Names or addresses, with or without port, that may resolve to private or loopback addresses."""
    private_networks: tuple[Network, ...] = ()
    folders: tuple[tuple[str, Path], ...] = field(default=())
    """Folders that sources may read, each with its tenant; "" is every tenant."""
    user_agent: str = "FootnoteBot/1"
    item_bytes: int = 100 * 1024 * 1024
    """Maximum bytes of an item."""
    items: int = 100_000
    """Maximum items of one source."""
    timeout: float = 30.0
    """Seconds that a source may be silent."""

    @classmethod
    def of(
        cls,
        hosts: tuple[str, ...],
        private: tuple[str, ...],
        folders: tuple[str, ...],
        **more: int | float | str,
    ) -> "Policy":
        """Parse the settings; ValueError for invalid ones."""
        names, networks = set(), []
        for one in private:
            try:
                networks.append(ipaddress.ip_network(one, strict=False))
            except ValueError:
                if not one or "/" in one or "*" in one:
                    said = f"{one!r} is no host, host:port or network; write wiki.corp or 10.1.0.0/16"
                    raise ValueError(said) from None
                names.add(one.lower())
        return cls(
            hosts=tuple(one.lower() for one in hosts),
            private_hosts=frozenset(names),
            private_networks=tuple(networks),
            folders=tuple(_folder(one) for one in folders),
            **more,  # type: ignore[arg-type]
        )

    def allows_name(self, host: str) -> bool:
        """Return whether sources may reach a host by its name."""
        if not self.hosts:
            return True
        host = host.lower().rstrip(".")
        return any(
            host == one or (one.startswith("*.") and host.endswith(one[1:])) for one in self.hosts
        ) or self.is_private_host(host, 0)

    def is_private_host(self, host: str, port: int) -> bool:
        """Return whether the operator allows this host to be private; a port of 0 is any."""
        host = host.lower().rstrip(".")
        with contextlib.suppress(ValueError):
            address = ipaddress.ip_address(host)
            if any(address in network for network in self.private_networks if network.version == address.version):
                return True
        if not port:
            return any(one == host or one.rpartition(":")[0] == host for one in self.private_hosts)
        return host in self.private_hosts or f"{host}:{port}" in self.private_hosts

    def folder_for(self, tenant_id: str, path: str) -> Path | None:
        """Return the real path of a folder or file that a tenant's source may read; None if it may not."""
        if not Path(path).is_absolute():
            return None
        real = Path(path).resolve()
        for tenant, root in self.folders:
            if tenant in ("", tenant_id) and real.is_relative_to(root.resolve()):
                return real
        return None


def _folder(text: str) -> tuple[str, Path]:
    tenant, equals, path = text.partition("=")
    if not equals:
        tenant, path = "", text
    if not Path(path).is_absolute():
        raise ValueError(f"{text!r} is no absolute path; write /srv/handbooks, or tenant=/srv/handbooks")
    return tenant, Path(path)
