"""Who sends a request, as far as limits go: a visitor by the signed cookie, else an address."""

from ipaddress import IPv6Address, ip_address, ip_network

from starlette.datastructures import Headers
from starlette.types import Scope

from heard.chat_app.common.identity import Identity

_TOLD_BY_PROXIES = ("forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip", "via")
LOOPBACK_NAMES = ("127.0.0.1", "localhost", "::1", "[::1]")


def address_of(scope: Scope) -> str:
    """Return the address of a request, of IPv6 the network of 64 bits, which is one household's; "" if unknown.

    Behind a proxy of the setting `trusted_proxies` it is the one that the proxy tells (uvicorn reads it).
    """
    host = (scope.get("client") or ("",))[0]
    try:
        address = ip_address(host)
    except ValueError:
        return ""
    if not isinstance(address, IPv6Address):
        return str(address)
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return "::1" if address.is_loopback else str(ip_network(f"{address}/64", strict=False))


def is_loopback(address: str) -> bool:
    """Return whether what `address_of` returned is this machine."""
    return bool(address) and "/" not in address and ip_address(address).is_loopback


def from_this_machine(scope: Scope) -> bool:
    """Return whether a request comes from a program on this machine, and not through a proxy on it."""
    headers = Headers(scope=scope)
    name = headers.get("host", "").lower()
    name = name if name in LOOPBACK_NAMES else name.rpartition(":")[0]
    told = any(header in headers for header in _TOLD_BY_PROXIES)
    return is_loopback(address_of(scope)) and name in LOOPBACK_NAMES and not told


def sender_of(scope: Scope, identity: Identity) -> str:
    """Return the participant of the signed cookie, else the address."""
    return identity.participant_from_headers(Headers(scope=scope)) or f"address {address_of(scope)}"
