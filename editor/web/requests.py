"""HTTP requests that the page makes: who may ask for what, and the files of the page.

The files are a fixed table: a request is never looked up in the file system.
"""

import hmac
import ipaddress
import os
import secrets
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import BinaryIO
from urllib.parse import urlsplit

# Page files ---------------------------------------------------------------------------------------
# The files of the page: a fixed table, no look-up in the file system by what was asked for.


_KINDS = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
}


@cache
def _table() -> dict[str, tuple[bytes, str]]:
    table = dict(_files_in(files("mjrig.editor.web").joinpath("page"), "/"))
    table["/"] = table["/index.html"]
    return table


def _files_in(folder: Traversable, path: str) -> Iterator[tuple[str, tuple[bytes, str]]]:
    for file in folder.iterdir():
        kind = _KINDS.get(f".{file.name.rpartition('.')[2]}")
        if file.is_dir():
            yield from _files_in(file, f"{path}{file.name}/")
        elif kind is not None:
            yield f"{path}{file.name}", (file.read_bytes(), kind)


def find(path: str) -> tuple[bytes, str] | None:
    """Contents and type of a file of the page; it holds nothing secret."""
    return _table().get(path)


# Requests -----------------------------------------------------------------------------------------


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


def check_host(request: Request, allowed: Collection[str], *, by_number: bool = False) -> None:
    """Only the names of this server: a foreign page cannot reach it under its own (DNS rebinding).

    Args:
        request: the request.
        allowed: the names.
        by_number: whether any IP address will do; a page cannot be made to have one as its name.

    Raises:
        RequestRefusedError: another name, or none.
    """
    host = request.headers.get("host", "")
    name = _name_in(f"//{host}")
    if name not in allowed and not (by_number and _is_number(name)):
        raise RequestRefusedError(
            403, f"the server is not called {host!r}; --allow-host NAME allows another name"
        )


def _name_in(address: str) -> str:
    """The host of an address, in lower case; empty: it has none."""
    try:
        return urlsplit(address).hostname or ""
    except ValueError:
        return ""


def _is_number(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def check_origin(request: Request, allowed: Collection[str] = ()) -> None:
    """Only pages of this server: WebSockets know no same-origin rule of their own.

    Args:
        request: the request.
        allowed: names under which a proxy shows this server; it may write another `Host`.

    Raises:
        RequestRefusedError: another page asks, or something that is no page.
    """
    origin, host = request.headers.get("origin", ""), request.headers.get("host", "")
    is_same = bool(origin) and origin.partition("://")[2].lower() == host.lower()
    if not is_same and _name_in(origin) not in allowed:
        raise RequestRefusedError(403, "only the editor's own page may connect")


class Tokens:
    """The passwords of a session: one for who may command, one for who may only watch."""

    def __init__(self) -> None:
        self.command, self.watch = secrets.token_urlsafe(32), secrets.token_urlsafe(32)

    def rights(self, token: object) -> str:
        """`command`, `watch`, or empty for a wrong token; compared in constant time."""
        offered = token.encode(errors="replace") if isinstance(token, str) else b""
        is_command = hmac.compare_digest(offered, self.command.encode())
        is_watch = hmac.compare_digest(offered, self.watch.encode())
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


@dataclass
class Reply:
    """The answer to a request: all of it, or its head and the file that follows."""

    head: bytes
    file: BinaryIO | None = None
    length: int = 0


def file_answer(path: Path, kind: str, more: dict[str, str]) -> Reply:
    """A file, which goes in parts.

    Raises:
        RequestRefusedError: it cannot be read any more.
    """
    try:
        file = path.open("rb")
    except OSError as error:
        raise RequestRefusedError(404, "there is nothing here") from error
    length = os.fstat(file.fileno()).st_size
    return Reply(answer(200, b"", kind, more=more, length=length), file, length)
