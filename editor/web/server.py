"""Server: a thread that serves the page and its live connections; the window never waits for it."""

import asyncio
import errno
import json
import socket
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from mjrig.editor.web import page_files, requests
from mjrig.editor.web.browsers import Browser
from mjrig.editor.web.inbox import Inbox, Presence
from mjrig.editor.web.requests import Reply, Request, RequestRefusedError, Tokens
from mjrig.editor.web.websocket import (
    BINARY,
    CLOSE,
    DEFLATE,
    PING,
    PONG,
    TEXT,
    ProtocolError,
    Receiver,
    accept_key,
    closing,
    packed,
)
from mjrig.errors import SceneError

#: Connections at once; those that have not said their token; live ones.
MOST_CONNECTIONS, MOST_STRANGERS, MOST_BROWSERS = 256, 64, 24
#: Longest message of a page (a picture of a large screen), of one that only watches, and of a
#: stranger [bytes].
LONGEST_MESSAGE, LONGEST_OF_WATCHERS, LONGEST_GREETING = 16 << 20, 4096, 4096
#: Time for the head of a request, for the token, and after a wrong one [s].
_PATIENCE, _GREETING, _PENALTY = 5.0, 5.0, 0.5
#: Files go in parts of this size [bytes], each within this time [s].
_PART, _SLOWEST = 1 << 18, 120.0
#: How often a live connection is tried [s].
_PING_EVERY = 20.0


@dataclass
class ServerSettings:
    """Where the server listens, and under which names it may be asked."""

    host: str = "127.0.0.1"
    port: int = 0
    allowed: tuple[str, ...] = ()
    #: Pages that may show the editor in a frame, as the security policy writes them.
    parents: str = "'none'"


#: Finds what lies at a path: its bytes or file, its type, and more headers; None: nothing.
BodyOf = Callable[[str], tuple[bytes | Path, str, dict[str, str]] | None]


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
        self.settings, self._body_of = settings, body_of
        self.tokens = Tokens()
        self.inbox = Inbox()
        self.browsers: list[Browser] = []
        self._proxies = {name.lower() for name in settings.allowed}
        self._hosts = {*requests.LOCAL_NAMES, *self._proxies}
        self._hosts.add((socket.gethostname() if self.is_everywhere else settings.host).lower())
        self._connections = self._strangers = 0
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
        """All of its thread; another thread may be running a loop of its own, as notebooks do."""
        asyncio.set_event_loop(self._loop)
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
        if self._connections >= MOST_CONNECTIONS or self._strangers >= MOST_STRANGERS:
            writer.write(requests.answer(503, b"too many connections"))
            writer.close()
            return
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self._connections += 1
        self._strangers += 1
        connection = _Connection(self, reader, writer)
        try:
            await connection.serve()
        except (OSError, EOFError, TimeoutError, asyncio.LimitOverrunError, ProtocolError):
            pass  # it is gone, too slow, or never was a browser
        except asyncio.CancelledError:
            pass  # the server ends
        finally:
            self._connections -= 1
            if not connection.is_known:
                self._strangers -= 1
            self._tasks.discard(task)
            writer.close()

    def _check_host(self, request: Request) -> None:
        requests.check_host(request, self._hosts, by_number=self.is_everywhere)

    def _answer(self, request: Request) -> Reply:
        self._check_host(request)
        if request.method != "GET":
            raise RequestRefusedError(405, "only GET")
        found = page_files.find(request.path)
        if found is not None:
            return Reply(requests.answer(200, *found, parents=self.settings.parents))
        if not request.path.startswith(("/asset/", "/download/")):
            raise RequestRefusedError(404, "there is nothing here")
        token = request.headers.get("authorization", "").removeprefix("Bearer ")
        if not self.tokens.rights(token):
            raise RequestRefusedError(401, "the token is missing or wrong")
        body = self._body_of(request.path)
        if body is None:
            raise RequestRefusedError(404, "there is nothing here")
        content, kind, more = body
        if isinstance(content, Path):
            return requests.file_answer(content, kind, more)
        return Reply(requests.answer(200, content, kind, more=more), has_token=True)


class _Connection:
    """One connection: requests for files, or the live one."""

    def __init__(
        self, server: Server, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self._server, self._reader, self._writer = server, reader, writer
        self.is_known = False

    async def serve(self) -> None:
        """Reply until the other side has enough."""
        while True:
            async with asyncio.timeout(_PATIENCE):
                head = await self._reader.readuntil(b"\r\n\r\n")
            try:
                request = requests.parse(head)
                if request.is_upgrade:
                    self._upgrade(request)
                    break
                answer = self._server._answer(request)
                if answer.has_token:
                    self._become_known()
            except RequestRefusedError as refused:
                text = str(refused).encode()
                self._writer.write(requests.answer(refused.status, text))
                await self._writer.drain()
                return
            await self._send(answer)
            if request.headers.get("connection", "").lower() == "close":
                return
        await self._live(request)

    async def _send(self, answer: Reply) -> None:
        self._writer.write(answer.head)
        await self._drain()
        if answer.file is not None:
            with answer.file as file:
                left = answer.length  # a file that grows meanwhile ends where it was promised to
                while left > 0 and (part := file.read(min(_PART, left))):
                    left -= len(part)
                    self._writer.write(part)
                    await self._drain()
            if left:
                raise EOFError  # it has become shorter: the browser sees that it is not whole

    async def _drain(self) -> None:
        async with asyncio.timeout(_SLOWEST):
            await self._writer.drain()

    def _become_known(self) -> None:
        if not self.is_known:
            self.is_known = True
            self._server._strangers -= 1

    def _upgrade(self, request: Request) -> None:
        self._server._check_host(request)
        requests.check_origin(request, self._server._proxies)
        key = request.headers.get("sec-websocket-key", "")
        if request.path != "/live" or not key.isascii() or not key:
            raise RequestRefusedError(404, "there is nothing here")
        offered = request.headers.get("sec-websocket-extensions", "")
        lines = [
            "HTTP/1.1 101 Switching Protocols",
            "Upgrade: websocket",
            "Connection: Upgrade",
            f"Sec-WebSocket-Accept: {accept_key(key)}",
        ]
        if "permessage-deflate" not in offered:
            raise RequestRefusedError(400, "permessage-deflate is needed")
        lines.append(f"Sec-WebSocket-Extensions: {DEFLATE}")
        self._writer.write("\r\n".join(lines).encode("ascii") + b"\r\n\r\n")

    async def _live(self, request: Request) -> None:
        receiver = Receiver(LONGEST_GREETING)
        async with asyncio.timeout(_GREETING):
            token, early = await self._greeting(receiver)
        rights = self._server.tokens.rights(token)
        if not rights:
            await asyncio.sleep(_PENALTY)
            self._writer.write(closing(4403, "the token is missing or wrong"))
            return
        if len(self._server.browsers) >= MOST_BROWSERS:
            self._writer.write(closing(4429, "too many browsers"))
            return
        self._become_known()
        agent = request.headers.get("user-agent", "")
        browser = Browser(self._writer, rights, _short_name(agent))
        self._server.browsers.append(browser)
        self._server.inbox.put(browser, Presence.CAME)
        for message in early:
            self._server.inbox.put(browser, message)
        try:
            await self._listen(browser, receiver)
        except ProtocolError as error:
            self._writer.write(closing(error.code, str(error)))
        finally:
            browser.is_gone = True
            self._server.browsers.remove(browser)
            self._server.inbox.put(browser, Presence.GONE)

    async def _greeting(self, receiver: Receiver) -> tuple[object, list[str | bytes]]:
        """The token of the first message, and what came along with it."""
        while True:
            data = await self._reader.read(65536)
            if not data:
                raise EOFError
            messages = list(receiver.feed(data))
            if messages:
                break
        try:
            said = json.loads(messages[0].payload)
        except (ValueError, RecursionError):
            said = None
        early: list[str | bytes] = [_content(m.opcode, m.payload) for m in messages[1:]]
        return (said.get("token") if isinstance(said, dict) else None), early

    async def _listen(self, browser: Browser, receiver: Receiver) -> None:
        unanswered = 0
        while not browser.is_gone:
            try:
                async with asyncio.timeout(_PING_EVERY):
                    data = await self._reader.read(262144)
            except TimeoutError:
                unanswered += 1
                if unanswered > 3:
                    return
                self._writer.write(packed(PING, b""))
                continue
            if not data:
                return
            unanswered = 0
            receiver.limit = LONGEST_MESSAGE if browser.is_trusted else LONGEST_OF_WATCHERS
            for message in receiver.feed(data):
                if browser.is_flooding():
                    raise ProtocolError(1008, "too many messages")
                if message.opcode == CLOSE:
                    return
                if message.opcode == PING:
                    self._writer.write(packed(PONG, message.payload))
                elif message.opcode in (TEXT, BINARY):
                    self._take(browser, _content(message.opcode, message.payload))

    def _take(self, browser: Browser, content: str | bytes) -> None:
        if isinstance(content, str) and content.startswith('["a",'):
            values = content[5:-1].replace(" ", "").split(",")
            if len(values) != 2 or not all(v.isascii() and v.isdigit() for v in values):
                raise ProtocolError(1008, "acknowledgement")
            browser.acknowledge(int(values[0]), int(values[1]) / 1e3)
            self._server.inbox.wake.set()
        else:
            self._server.inbox.put(browser, content)


def _content(opcode: int, payload: bytes) -> str | bytes:
    if opcode != TEXT:
        return payload
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
