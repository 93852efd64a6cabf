"""Proxies of the environment, by one rule for all clients."""

import ipaddress
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass


def proxy_of(url: str) -> str | None:
    """Return the address of the proxy that stands between here and a server, as ``http_proxy``,
    ``https_proxy`` and ``no_proxy`` say; ``None``: none does, as for servers of this machine.

    Args:
        url: Address of the server, ``http://…`` or ``https://…``.
    """
    parts = urlsplit(url)
    host = parts.hostname or ""
    proxy = getproxies().get(parts.scheme)
    if not proxy or _is_here(host) or proxy_bypass(host):
        return None
    return proxy if "://" in proxy else f"http://{proxy}"


def through(proxy: str | None) -> str:
    """Return what errors of a connection say of its proxy, without its password."""
    if proxy is None:
        return ""
    parts = urlsplit(proxy)
    return f" (through the proxy {parts.hostname}:{parts.port or 80} of the environment)"


def _is_here(host: str) -> bool:
    """Return whether a name or an address is that of this machine."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
