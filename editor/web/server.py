"""Server: a thread that serves the page and its live connections; the window never waits for it."""

import asyncio
import errno
import json
import logging
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from websockets.exceptions import InvalidHandshake
from websockets.frames import Frame, Opcode

from mjrig.core.errors import SceneError
from mjrig.core.library_logs import reporting_library_logs
from mjrig.editor.text import tr
from mjrig.editor.web import requests
from mjrig.editor.web import requests as page_files
from mjrig.editor.web.browsers import Browser, Inbox, Presence
from mjrig.editor.web.protocol import GREETING, REQUESTS, MalformedError, Role, check_bytes, parse
from mjrig.editor.web.requests import Reply, Request, RequestRefusedError, Tokens
from mjrig.editor.web.websocket import (
    Message,
    MessageStream,
    ProtocolError,
    accept,
    close_frame,
)

#: Live connections at once; an owner takes the place of a view link if there are so many.
MOST_BROWSERS = 24
#: Connections of view links at once, requests for files included: a browser opens six for a page.
#: The server's other connections are for owners and strangers.
MOST_OF_VIEW_LINKS = 160
#: Longest message of a page (a picture of a large screen), of one that only watches, and of a
#: stranger [bytes].
LONGEST_MESSAGE, LONGEST_OF_WATCHERS, LONGEST_GREETING = 16 << 20, 4096, 4096
#: Time for the head of a request, for the token, and after a wrong one [s].
_PATIENCE, _GREETING, _PENALTY = 5.0, 5.0, 0.5
#: Files go in parts of this size [bytes], each within this time [s].
_PART, _SLOWEST = 1 << 18, 120.0
#: How often a live connection is tried [s].
_PING_EVERY, _PING = 20.0, Frame(Opcode.PING, b"").serialize(mask=False)
#: Bytes that are parsed at once: they may hold ten thousand frames, and other pages wait.
_CHUNK = 1 << 16


#: Content at a path: its bytes or file, its type, and more headers; None: nothing.
BodyOf = Callable[[str], tuple[bytes | Path, str, dict[str, str]] | None]


class PageServer(Protocol):
    """The server, as a connection needs it."""

    tokens: Tokens
    inbox: Inbox
    browsers: list[Browser]
    #: Connections that have not given a right token yet, oldest first.
    strangers: "dict[PageConnection, asyncio.Task[None]]"
    #: Connections of view links.
    view_links: int
    body_of: BodyOf

    @property
    def parents(self) -> str:
        """Pages that may show the editor in a frame."""
        ...

    @property
    def proxies(self) -> set[str]:
        """Names under which a proxy shows the server."""
        ...

    def check_host(self, request: Request) -> None:
        """Refuse requests under another name."""

    def reject(self, browser: Browser, error: Exception) -> None:
        """Close the connection of a page because of its message, and log the reason."""


class PageConnection:
    """One connection: requests for files, or the live one.

    Args:
        server: the server.
        reader: bytes of the other side.
        writer: bytes to it.
    """

    def __init__(
        self, server: PageServer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self._server, self._reader, self._writer = server, reader, writer
        #: `command` or `watch`, by the token it gave; empty: none that is right.
        self.rights = ""

    async def serve(self) -> None:
        """Reply until the other side has enough."""
        while True:
            async with asyncio.timeout(_PATIENCE):
                head = await self._reader.readuntil(b"\r\n\r\n")
            try:
                request = requests.parse(head)
                if request.is_upgrade:
                    stream = self._upgrade(request)
                    break
                answer = self._answer(request)
            except RequestRefusedError as refused:
                text = str(refused).encode()
                self._writer.write(requests.answer(refused.status, text))
                await self._writer.drain()
                return
            await self._send(answer)
            if request.headers.get("connection", "").lower() == "close":
                return
        await self._live(request, stream)

    def _answer(self, request: Request) -> Reply:
        self._server.check_host(request)
        if request.method != "GET":
            raise RequestRefusedError(405, "only GET")
        page = page_files.find(request.path)
        if page is not None:
            return Reply(requests.answer(200, *page, parents=self._server.parents))
        below = f"/{request.path[1:].partition('/')[0]}/"
        if below not in REQUESTS:
            raise RequestRefusedError(404, "there is nothing here")
        token = request.headers.get("authorization", "").removeprefix("Bearer ")
        role = self._role(token)
        if role is Role.STRANGER:
            raise RequestRefusedError(401, "the token is missing or wrong")
        if role not in REQUESTS[below]:
            raise RequestRefusedError(403, "a view link does not download files")
        if not self._authenticate(token):
            raise RequestRefusedError(503, "view links have too many connections")
        body = self._server.body_of(request.path)
        if body is None:
            raise RequestRefusedError(404, "there is nothing here")
        content, kind, more = body
        if isinstance(content, Path):
            return requests.file_answer(content, kind, more)
        return Reply(requests.answer(200, content, kind, more=more))

    def _role(self, token: str) -> Role:
        """The role that a request has by its token: it names a link, not one of its pages."""
        rights = self._server.tokens.rights(token)
        if rights == "command":
            return Role.OWNER
        is_lent = any(b.role is Role.LENT for b in tuple(self._server.browsers))
        return Role.STRANGER if not rights else Role.LENT if is_lent else Role.VIEWER

    async def _send(self, answer: Reply) -> None:
        self._writer.write(answer.head)
        await self._drain()
        if answer.file is not None:
            with answer.file as file:
                rest = answer.length  # a file that grows meanwhile ends where it was promised to
                while rest > 0 and (part := file.read(min(_PART, rest))):
                    rest -= len(part)
                    self._writer.write(part)
                    await self._drain()
            if rest:
                raise EOFError  # it has become shorter: the browser sees that it is not whole

    async def _drain(self) -> None:
        async with asyncio.timeout(_SLOWEST):
            await self._writer.drain()

    def _authenticate(self, token: object) -> bool:
        """Count the connection among those of its link; False: there are too many of them."""
        rights = self._server.tokens.rights(token)
        if not self.rights:
            if rights == "watch" and self._server.view_links >= MOST_OF_VIEW_LINKS:
                return False
            self.rights = rights
            self._server.strangers.pop(self, None)
            self._server.view_links += rights == "watch"
        return True

    # Live -----------------------------------------------------------------------------------------

    def _upgrade(self, request: Request) -> MessageStream:
        self._server.check_host(request)
        requests.check_origin(request, self._server.proxies)
        if request.path != "/live" or request.method != "GET":
            raise RequestRefusedError(404, "there is nothing here")
        try:
            stream, response = accept(request.path, request.headers, LONGEST_GREETING)
        except InvalidHandshake as error:
            raise RequestRefusedError(400, str(error)) from error
        self._writer.write(response)
        return stream

    async def _live(self, request: Request, stream: MessageStream) -> None:
        async with asyncio.timeout(_GREETING):
            token, rest = await self._greeting(stream)
        rights = self._server.tokens.rights(token)
        if not rights:
            await asyncio.sleep(_PENALTY)
            self._writer.write(close_frame(4403, "the token is missing or wrong"))
            return
        if not self._make_room(rights) or not self._authenticate(token):
            self._writer.write(close_frame(4429, "too many browsers"))
            return
        agent = request.headers.get("user-agent", "")
        browser = Browser(self._writer, rights, _short_name(agent))
        self._server.browsers.append(browser)
        self._server.inbox.put(browser, Presence.CAME)
        try:
            await self._listen(browser, stream, rest)
        except (OSError, EOFError, TimeoutError):
            pass  # it is gone
        except Exception as error:  # of one of its messages: others go on
            self._server.reject(browser, error)
        finally:
            browser.is_gone = True
            self._server.browsers.remove(browser)
            self._server.inbox.put(browser, Presence.GONE)

    def _make_room(self, rights: str) -> bool:
        """Whether there is a place for a page; an owner gets that of the newest view link.

        A view link that was lent the command is the last to leave.
        """
        pages = [page for page in self._server.browsers if not page.is_gone]
        if len(pages) < MOST_BROWSERS:
            return True
        view_links = [page for page in pages if page.rights == "watch"]
        if rights != "command" or not view_links:
            return False
        newest = max(view_links, key=lambda page: (not page.commands, page.number))
        newest.close(4429, "too many browsers: an owner has this place now")
        return True

    async def _greeting(self, stream: MessageStream) -> tuple[object, Iterator[Message]]:
        """The token of the first message, and the messages that arrived along with it."""
        while True:
            data = await self._reader.read(LONGEST_GREETING)
            if not data:
                raise EOFError
            messages = stream.feed(data)
            first = next(messages, None)
            if first is not None:
                break
        try:
            greeting = json.loads(first.payload)
        except (ValueError, RecursionError):
            greeting = None
        return (greeting.get(GREETING) if isinstance(greeting, dict) else None), messages

    async def _listen(
        self, browser: Browser, stream: MessageStream, messages: Iterator[Message]
    ) -> None:
        unanswered = 0
        while True:
            for message in messages:
                self._take(browser, message)
            self._write(stream.replies())
            if browser.is_gone or stream.is_closing:
                return
            try:
                async with asyncio.timeout(_PING_EVERY):
                    data = await self._reader.read(_CHUNK)
            except TimeoutError:
                unanswered += 1
                if unanswered > 3:
                    return
                self._write(_PING)
                continue
            if not data:
                return
            unanswered = 0
            stream.set_limit(LONGEST_MESSAGE if browser.is_trusted else LONGEST_OF_WATCHERS)
            messages = stream.feed(data)

    def _write(self, wire: bytes) -> None:
        if not self._writer.is_closing():  # else asyncio logs every attempt
            self._writer.write(wire)

    def _take(self, browser: Browser, message: Message) -> None:
        """Check a message and pass it on to the window; acknowledgements end here."""
        if browser.is_flooding():
            raise MalformedError("too many messages")
        if message.opcode is Opcode.TEXT:
            event = parse(_text(message.payload))
            if event[0] == "a":
                browser.acknowledge(event[1], event[2] / 1e3)
                self._server.inbox.wake.set()
            else:
                self._server.inbox.put(browser, event)
        elif message.opcode is Opcode.BINARY:
            self._server.inbox.put(browser, check_bytes(message.payload))


def _text(payload: bytes) -> str:
    try:
        return payload.decode()
    except UnicodeDecodeError as error:
        raise ProtocolError(1007, "text") from error


def _short_name(agent: str) -> str:
    """What a browser calls itself, in a word or two."""
    for sign, name in (("Firefox/", "Firefox"), ("Edg/", "Edge"), ("Chrom", "Chrome")):
        if sign in agent:
            return name
    return "Safari" if "Safari/" in agent else "browser"


_logger = logging.getLogger("mjrig")
#: Connections at once; those that have not given their token: one more ends the oldest of them.
MOST_CONNECTIONS, MOST_STRANGERS = 256, 64
#: Rejections that are logged within a minute, so that nobody can fill the console with them.
LOGGED_A_MINUTE = 20
#: Longest line of the log: a few words and a reason, which may quote the page [characters].
_LONGEST_LINE = 160


@dataclass
class ServerSettings:
    """Where the server listens, and under which names it may be asked."""

    host: str = "127.0.0.1"
    port: int = 0
    allowed: tuple[str, ...] = ()
    #: Pages that may show the editor in a frame, as the security policy writes them.
    parents: str = "'none'"


class RejectionLog:
    """Logs why connections were closed or frames failed, and counts the lines over the limit."""

    def __init__(self) -> None:
        self._began, self._count = 0.0, 0
        self._lock = threading.Lock()

    def note(self, line: str, error: BaseException | None, now: float) -> None:
        """Log one; from any thread.

        Args:
            line: what happened and why.
            error: its traceback is logged for debugging.
            now: the time [s].
        """
        with self._lock:
            if now - self._began >= 60.0:
                suppressed = self._count - LOGGED_A_MINUTE
                self._began, self._count = now, 0
                if suppressed > 0:
                    _logger.warning(tr("{count} more such lines were dropped", count=suppressed))
            self._count += 1
            if self._count > LOGGED_A_MINUTE:
                return
        _logger.warning(line[:_LONGEST_LINE])
        _logger.debug("its traceback", exc_info=error)


class Server:
    """Serves the page. `inbox` fills, `browsers` come and go; everything else is its own thread's.

    Args:
        settings: where to listen.
        body_of: called with a path below `/asset/` or `/download/`.

    Raises:
        SceneError: the port cannot be had.
    """

    def __init__(
        self,
        settings: ServerSettings,
        body_of: BodyOf = lambda path: None,
    ) -> None:
        self.settings, self.body_of = settings, body_of
        self.tokens = Tokens()
        self.inbox = Inbox()
        self.browsers: list[Browser] = []
        self.proxies = {name.lower() for name in settings.allowed}
        self._hosts = {*requests.LOCAL_NAMES, *self.proxies}
        self._hosts.add((socket.gethostname() if self.is_everywhere else settings.host).lower())
        self._connections = self.view_links = 0
        self.strangers: dict[PageConnection, asyncio.Task[None]] = {}
        self._rejections = RejectionLog()
        self._loop = asyncio.new_event_loop()
        self._tasks: set[asyncio.Task[None]] = set()
        self.port = 0
        self._started: Future[None] = Future()
        self._thread = threading.Thread(target=self._run, name="mjrig-web", daemon=True)
        self._thread.start()
        try:
            self._started.result()
        except OSError as error:
            place = f"{self.settings.host}:{self.settings.port}"
            reason = error.strerror or error
            way = "--port" if error.errno == errno.EADDRINUSE else "--host"
            raise SceneError(f"{place}: cannot listen there: {reason}; {way} takes another") from (
                error
            )

    @property
    def parents(self) -> str:
        """Pages that may show the editor in a frame."""
        return self.settings.parents

    @property
    def is_everywhere(self) -> bool:
        """Whether it listens at every address of this computer."""
        return self.settings.host in ("0.0.0.0", "::", "")

    def address(self, token: str, name: str = "") -> str:
        """What a browser opens; the token is in the fragment, which it never sends."""
        name = name or ("127.0.0.1" if self.is_everywhere else self.settings.host)
        shown = f"[{name}]" if ":" in name else name
        return f"http://{shown}:{self.port}/#{token}"

    def stop(self) -> None:
        """End all connections and the thread; stopping twice is fine."""
        if self._thread.is_alive():
            for browser in tuple(self.browsers):
                browser.close(1001, "the editor has ended")
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(5.0)

    def _run(self) -> None:
        with reporting_library_logs(self._report_library):
            self._serve()

    def _serve(self) -> None:
        """All of its thread; another thread may be running a loop of its own, as notebooks do."""
        asyncio.set_event_loop(self._loop)
        self._loop.set_exception_handler(lambda loop, context: self._report_callback(context))
        settings, limit = self.settings, requests.LONGEST_HEAD
        start = asyncio.start_server(self._connected, settings.host, settings.port, limit=limit)
        try:
            listener = self._loop.run_until_complete(start)
        except OSError as error:
            self._loop.close()
            self._started.set_exception(error)
            return
        self.port = int(listener.sockets[0].getsockname()[1])
        self._started.set_result(None)
        self._loop.run_forever()
        listener.close()
        for task in self._tasks:
            task.cancel()
        with suppress(Exception):
            self._loop.run_until_complete(asyncio.sleep(0.05))
        self._loop.close()

    # Connections ----------------------------------------------------------------------------------

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(self.strangers) >= MOST_STRANGERS:  # the newest may be an owner who returns
            oldest = next(iter(self.strangers))
            self.strangers.pop(oldest).cancel()
        if self._connections >= MOST_CONNECTIONS:
            writer.write(requests.answer(503, b"too many connections"))
            writer.close()
            return
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self._connections += 1
        connection = PageConnection(self, reader, writer)
        self.strangers[connection] = task
        try:
            await connection.serve()
        except (OSError, EOFError, TimeoutError, asyncio.LimitOverrunError, ProtocolError):
            pass  # it is gone, too slow, or never was a browser
        except asyncio.CancelledError:
            pass  # the server ends
        except Exception as error:  # of one connection: the others go on
            self._note("a connection", error)
        finally:
            self._connections -= 1
            self.strangers.pop(connection, None)
            self.view_links -= connection.rights == "watch"
            self._tasks.discard(task)
            writer.close()

    def check_host(self, request: Request) -> None:
        """Refuse requests under a name that is not the server's.

        Raises:
            RequestRefusedError: another name, or none.
        """
        requests.check_host(request, self._hosts, by_number=self.is_everywhere)

    # Rejections -----------------------------------------------------------------------------------

    def reject(self, browser: Browser, error: Exception) -> None:
        """Close the connection of a page because of its message, and log why; from any thread.

        Whatever the window has not applied of its messages is dropped.
        """
        code = 1008 if isinstance(error, MalformedError) else 1011
        code = error.code if isinstance(error, ProtocolError) else code
        browser.is_rejected = True
        browser.close(code, _reason(error))
        self._note(f"page {browser.number} ({browser.name})", error)

    def report_frame(self, error: Exception) -> None:
        """Log that a frame of the window failed, and no page is to blame."""
        text = tr("a frame failed: {kind}: {error}", kind=type(error).__name__, error=error)
        self._rejections.note(text, error, time.monotonic())

    def _report_callback(self, context: dict[str, object]) -> None:
        """Log an error of a callback, which asyncio would print."""
        error = context.get("exception")
        self._note(
            "a connection",
            error if isinstance(error, Exception) else MalformedError(str(context.get("message"))),
        )

    def _report_library(self, line: str) -> None:
        """Log a warning of a library, which has no limit itself."""
        self._rejections.note(line, None, time.monotonic())

    def _note(self, who: str, error: Exception) -> None:
        text = tr("{who} was disconnected: {reason}", who=who, reason=_reason(error))
        self._rejections.note(text, error, time.monotonic())


def _reason(error: Exception) -> str:
    """Why a connection is closed; internals of the editor stay in its log."""
    if isinstance(error, MalformedError | ProtocolError):
        return str(error)
    return f"{type(error).__name__} while its message was processed"
