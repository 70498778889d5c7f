"""Clients: the programs that talk to a bridge, their tokens, and which of them may command."""

import hmac
import ipaddress
import secrets
import time
from urllib.parse import urlsplit

from mjrig.components.bridges.protocol import RequestError
from mjrig.core.findings import Finding, note, warning

# Access -------------------------------------------------------------------------------------------
# Access: who may connect to a bridge, from where, and with which token.


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


def network_warning(host: str) -> Finding | None:
    """What people should know before they listen on an address; None for loopback."""
    return None if is_loopback(host) else warning("open-network", "", here=host)


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


# Clients ------------------------------------------------------------------------------------------
# Clients: the programs that talk to a bridge, and which of them may command.


#: Notes about connections that wait until the world reads them; more are a flood.
MAX_NOTES = 100


class Client:
    """A program that talks to SocketBridge: one connection."""

    def __init__(self, name: str, *, keeps_token: bool = False, is_admitted: bool = False) -> None:
        #: For people: transport, number and address.
        self.name = name
        self.is_connected = True
        #: Whether one valid token admits the connection until its end.
        self.keeps_token = keeps_token
        self.is_admitted = is_admitted
        #: Time of its last request, by `time.monotonic`.
        self.last_request = time.monotonic()
        #: The client that took the clock from it: steps that it sent before must not take it back.
        self.replaced_by: Client | None = None
        #: Something that its next reply mentions, once.
        self.warning = ""

    def admit(self, candidate: object, token: str) -> None:
        """Check the token of a request; none is needed if `token` is empty.

        Raises:
            RequestError: it is missing or wrong.
        """
        if not token or self.is_admitted:
            return
        if not is_token(candidate, token):
            raise RequestError("wrong-token")
        self.is_admitted = self.keeps_token

    def check_replaced(self, op: str, *, take: bool) -> None:
        """Make sure that nobody took the clock from it, or that it takes it back explicitly.

        Raises:
            RequestError: the client that took it is connected; the text names it.
        """
        other = self.replaced_by
        if other is not None and other.is_connected and not take:
            raise RequestError("clock-taken", subject=op, here=other.name, client=self.name)
        self.replaced_by = None

    def subscribe(self, as_json: bool) -> bool:
        """Have states sent over this connection; False: it cannot carry them."""
        return False

    def unsubscribe(self) -> bool:
        """No longer; False: it cannot carry states anyway."""
        return False

    def close(self) -> None:
        """End the connection once its replies are sent."""

    def __repr__(self) -> str:
        return f"Client({self.name!r})"


class CommandRight:
    """The right to command a robot, which one client at a time has.

    The first client that commands gets it. Another one gets it after `release`, when the holder's
    connection ends, or when it asks for it explicitly.
    """

    def __init__(self) -> None:
        self._holder: Client | None = None

    @property
    def holder(self) -> Client | None:
        """The client that commands, or commanded last."""
        return self._holder

    def check(self, client: Client, op: str, *, take: bool) -> None:
        """Make sure that a client may command.

        Raises:
            RequestError: another client has the right; the text names it.
        """
        holder = self._holder
        if holder is None or holder is client or not holder.is_connected or take:
            return
        raise RequestError("not-the-commander", subject=op, here=holder.name, client=client.name)

    def give(self, client: Client) -> Finding | None:
        """Let a client command; returns a notice that names both if another one did before."""
        before, self._holder = self._holder, client
        if before is None or before is client:
            return None
        form = "" if before.is_connected else "other-commander after"
        return note("other-commander", "", form=form, here=client.name, before=before.name)

    def release(self) -> None:
        """Nobody has it."""
        self._holder = None
