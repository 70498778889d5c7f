"""HTTP requests that the page makes: who may ask for what."""

import hmac
import secrets
from collections.abc import Collection
from dataclasses import dataclass
from urllib.parse import urlsplit

#: Names under which a browser on the same computer, or at the end of a tunnel, reaches the server.
LOCAL_NAMES = ("localhost", "127.0.0.1", "::1")
#: Longest head of a request [bytes].
LONGEST_HEAD = 16384
_POLICY = (
    "default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'self'; "
    "img-src 'self' data: blob:; base-uri 'none'; form-action 'none'; frame-ancestors {parents}"
)
_REASONS = {
    200: "OK", 304: "Not Modified", 400: "Bad Request", 401: "Unauthorized", 403: "Forbidden",
    404: "Not Found", 405: "Method Not Allowed", 503: "Service Unavailable",
}  # fmt: skip


class RequestRefusedError(Exception):
    """A request that is not answered; `status` says why."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


@dataclass(frozen=True)
class Request:
    """The head of one request; the names of its headers are in lower case."""

    method: str
    path: str
    headers: dict[str, str]

    @property
    def is_upgrade(self) -> bool:
        """Whether it wants a WebSocket."""
        return self.headers.get("upgrade", "").lower() == "websocket"


def parse(head: bytes) -> Request:
    """The head of a request.

    Raises:
        RequestRefusedError: it is none.
    """
    try:
        first, *lines = head.decode("ascii").rstrip("\r\n").split("\r\n")
        method, path, version = first.split(" ")
        pairs = [line.split(":", 1) for line in lines]
        headers = {name.lower(): value.strip() for name, value in pairs}
    except ValueError as error:
        raise RequestRefusedError(400, "this is not HTTP") from error
    if not version.startswith("HTTP/1.") or len(headers) != len(pairs):
        raise RequestRefusedError(400, "this is not HTTP/1, or a header comes twice")
    return Request(method, path, headers)


def check_host(request: Request, allowed: Collection[str]) -> None:
    """Only the names of this server: a foreign page cannot reach it under its own (DNS rebinding).

    Raises:
        RequestRefusedError: another name, or none.
    """
    host = request.headers.get("host", "")
    try:
        name = urlsplit(f"//{host}").hostname
    except ValueError:
        name = None
    if name is None or name not in allowed:
        raise RequestRefusedError(
            403, f"the server is not called {host!r}; --allow-host NAME allows another name"
        )


def check_origin(request: Request) -> None:
    """Only pages of this server: WebSockets know no same-origin rule of their own.

    Raises:
        RequestRefusedError: another page asks, or something that is no page.
    """
    origin, host = request.headers.get("origin", ""), request.headers.get("host", "")
    if not origin or urlsplit(origin).netloc.lower() != host.lower():
        raise RequestRefusedError(403, "only the editor's own page may connect")


class Tokens:
    """The passwords of a session: one for who may command, one for who may only watch."""

    def __init__(self) -> None:
        self.command, self.watch = secrets.token_urlsafe(32), secrets.token_urlsafe(32)

    def rights(self, token: object) -> str:
        """`command`, `watch`, or empty for a wrong token; compared in constant time."""
        given = token.encode() if isinstance(token, str) else b""
        is_command = hmac.compare_digest(given, self.command.encode())
        is_watch = hmac.compare_digest(given, self.watch.encode())
        return "command" if is_command else "watch" if is_watch else ""


def answer(
    status: int,
    body: bytes = b"",
    kind: str = "text/plain; charset=utf-8",
    *,
    more: dict[str, str] | None = None,
    parents: str = "'none'",
    length: int | None = None,
) -> bytes:
    """A whole answer, or its head where `length` says how much will follow.

    Nothing of it is kept by the browser unless `more` says so.
    """
    headers = {
        "Content-Type": kind,
        "Content-Length": str(len(body) if length is None else length),
        "Content-Security-Policy": _POLICY.format(parents=parents),
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "no-referrer",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Cache-Control": "no-store",
        **(more or {}),
    }
    lines = [f"HTTP/1.1 {status} {_REASONS[status]}", *(f"{k}: {v}" for k, v in headers.items())]
    return "\r\n".join(lines).encode("ascii") + b"\r\n\r\n" + body
