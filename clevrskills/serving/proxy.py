"""Proxies from environment variables."""

import ipaddress
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass


def proxy_of(url: str) -> str | None:
    """Return the proxy of a server by ``http_proxy``, ``https_proxy`` and ``no_proxy``; ``None`` if
    there is none, and for servers on this machine.

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
    """Return the proxy in words for error messages, without its password."""
    if proxy is None:
        return ""
    parts = urlsplit(proxy)
    return f" (through the proxy {parts.hostname}:{parts.port or 80} of the environment)"


def _is_here(host: str) -> bool:
    """Return whether a host is this machine."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
