"""Server: a thread that serves the page and its live connections; the window never waits for it."""

import asyncio
import errno
import logging
import socket
import threading
import time
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass

from mjrig.core.errors import SceneError
from mjrig.core.library_logs import reporting_library_logs
from mjrig.editor.text import tr
from mjrig.editor.web import requests
from mjrig.editor.web.browsers import Browser, Inbox
from mjrig.editor.web.connection import BodyOf, PageConnection
from mjrig.editor.web.protocol import MalformedError
from mjrig.editor.web.requests import Request, Tokens
from mjrig.editor.web.websocket import ProtocolError

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
