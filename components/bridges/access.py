"""Access: who may connect to a bridge, from where, and with which token."""

import hmac
import ipaddress
import secrets
from urllib.parse import urlsplit

#: Shortest token of a scene: shorter ones could be guessed.
MIN_TOKEN_LETTERS = 16


def is_loopback(host: str) -> bool:
    """Whether an address is reachable from this machine alone."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]").partition("%")[0]).is_loopback
    except ValueError:
        return False


def required_token(host: str, chosen: str) -> str:
    """The token that requests need: the chosen one, or outside loopback a new random one."""
    return chosen or ("" if is_loopback(host) else secrets.token_urlsafe(32))


def network_warning(host: str) -> str:
    """What people should know before they listen on an address; empty for loopback."""
    if is_loopback(host):
        return ""
    return (
        f"it listens on {host}, which other machines can reach: requests need the token, and the "
        "connection is not encrypted; host 127.0.0.1 and `ssh -L` are safer"
    )


def is_token(candidate: object, token: str) -> bool:
    """Whether a client's token is the right one; compared in constant time."""
    raw = candidate.encode(errors="surrogatepass") if isinstance(candidate, str) else b""
    return hmac.compare_digest(raw, token.encode())


def is_local_origin(origin: str | None) -> bool:
    """Whether a web page is of this machine; programs have no origin."""
    if origin is None:
        return True
    try:
        host = urlsplit(origin).hostname
    except ValueError:
        return False
    return host in ("localhost", "127.0.0.1", "::1")
