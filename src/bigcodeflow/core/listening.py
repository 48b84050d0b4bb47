"""Listen for HTTP on this machine: sockets, hosts in URLs, signals, and tests if a name belongs to this machine."""

import ipaddress
import signal
import socket
from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager
from urllib.parse import urlsplit

from bigcodeflow.core.errors import ConfigError

BACKLOG = 1024
_PROXY_VARIABLES = ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
_LOOPBACK_HOSTS = ("127.0.0.1", "localhost", "::1")


def listening(host: str, port: int) -> socket.socket:
    """Open a listening socket. Callers do this before slower preparations, which are useless if the port is taken."""
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.create_server(address[:2], family=family, backlog=BACKLOG)
    except OSError as error:
        raise ConfigError(
            f"cannot listen on {host} port {port} ({error.strerror or error}): choose another --host or --port"
        ) from None
    # Connections inherit it: else the body of a response waits 40 ms for the acknowledgement of its head.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener


def shown_host(host: str) -> str:
    """Return a host as a URL spells it (IPv6 addresses in brackets)."""
    return f"[{host}]" if ":" in host else host


@contextmanager
def quiet_signals() -> Iterator[None]:
    """Run Uvicorn in a with block: it stops on SIGTERM or SIGINT, and the signal that it raises again is ignored."""
    signals = (signal.SIGTERM, signal.SIGINT)
    before = {number: signal.signal(number, lambda *_: None) for number in signals}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def reach_loopback_directly(environment: MutableMapping[str, str]) -> None:
    """Add this machine's loopback addresses to the proxy exceptions (no_proxy) of an environment that names a proxy.

    Prefect's clients read the environment themselves: without the exception they ask a proxy for the server that was
    started here, and wait in vain. All other addresses keep their proxy.
    """
    if not any(environment.get(name) for name in _PROXY_VARIABLES):
        return
    named = [environment[name] for name in ("no_proxy", "NO_PROXY") if environment.get(name)]
    hosts = ",".join(dict.fromkeys([*",".join(named).replace(" ", "").split(","), *_LOOPBACK_HOSTS])).strip(",")
    environment.update({"no_proxy": hosts, "NO_PROXY": hosts})


def is_loopback(host: str) -> bool:
    """Tell if ``host`` is a loopback address or 'localhost', which only this machine can reach."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def is_own_name(host: str) -> bool:
    """Tell if a Host header has a loopback name, which always means this machine."""
    return is_loopback(name_of(host))


def is_same_site(origin: str, host: str) -> bool:
    """Tell if the headers Origin and Host name the same server and port; all loopback names count as the same."""
    scheme, _, site = origin.partition("://")
    default = {"http": 80, "https": 443}.get(scheme)
    if (_port_of(site) or default) != (_port_of(host) or default):
        return False
    return name_of(site) == name_of(host) != "" or (is_own_name(site) and is_own_name(host))


def name_of(host: str) -> str:
    """Return the name or address in a Host header, without the port; empty if the header has no name."""
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:  # brackets without an address in them
        return ""


def _port_of(host: str) -> int | None:
    try:
        return urlsplit(f"//{host}").port
    except ValueError:
        return None
