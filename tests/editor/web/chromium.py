"""Chromium without a screen, driven over its DevTools protocol with the editor's WebSocket code."""

import base64
import io
import json
import os
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self, cast
from urllib.parse import urlsplit

import numpy as np
from websockets.frames import Frame, Opcode
from websockets.protocol import Protocol, Side

from mjrig.editor.web.websocket import Message, MessageStream, deflate

PROGRAM = (
    shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
)
_OPTIONS = (
    "--headless=new", "--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader",
    "--remote-debugging-port=0", "--no-first-run", "--disable-extensions", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--mute-audio",
    "--window-size=1280,720", "--hide-scrollbars", "--force-color-profile=srgb",
    "--disable-dev-shm-usage",
)  # fmt: skip


def client_frame(opcode: int, payload: bytes) -> bytes:
    """A frame as clients send it: masked, and here never compressed."""
    return Frame(cast(Opcode, opcode), payload).serialize(mask=True)


class Line:
    """A WebSocket of a client, without threads."""

    def __init__(self, address: str, **headers: str) -> None:
        parts = urlsplit(address)
        assert parts.hostname is not None and parts.port is not None
        self.socket = socket.create_connection((parts.hostname, parts.port), 20.0)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # as browsers do
        asked = {
            "Host": parts.netloc, "Upgrade": "websocket", "Connection": "Upgrade",
            "Sec-WebSocket-Version": "13", "Sec-WebSocket-Extensions": "permessage-deflate",
            "Sec-WebSocket-Key": base64.b64encode(os.urandom(16)).decode(),
            **{name.replace("_", "-"): value for name, value in headers.items()},
        }  # fmt: skip
        lines = [f"GET {parts.path} HTTP/1.1", *(f"{k}: {v}" for k, v in asked.items() if v)]
        self.socket.sendall("\r\n".join(lines).encode() + b"\r\n\r\n")
        answer = b""
        while b"\r\n\r\n" not in answer:
            more = self.socket.recv(4096)
            if not more:
                raise ConnectionError(answer)
            answer += more
        head, _, rest = answer.partition(b"\r\n\r\n")
        self.head = head.decode()
        self.is_open = head.startswith(b"HTTP/1.1 101")
        protocol = Protocol(Side.CLIENT, max_size=1 << 28)
        protocol.extensions = [deflate()] if "permessage-deflate" in self.head else []
        self._stream = MessageStream(protocol)
        self._waiting: list[Message] = list(self._stream.feed(rest)) if self.is_open else []
        self.bytes_received = 0

    def send(self, message: Any) -> None:
        """Send a text, something that becomes JSON, or bytes."""
        if isinstance(message, bytes):
            self.send_raw(client_frame(Opcode.BINARY, message))
        else:
            text = message if isinstance(message, str) else json.dumps(message)
            self.send_raw(client_frame(Opcode.TEXT, text.encode()))

    def send_raw(self, wire: bytes) -> None:
        """Send bytes as they are."""
        self.socket.sendall(wire)

    def receive(self, timeout: float = 20.0) -> Message | None:
        """The next message; None: there is none within this time, or the line is closed."""
        end = time.monotonic() + timeout
        while not self._waiting:
            left = end - time.monotonic()
            if left <= 0.0:
                return None
            self.socket.settimeout(left)
            try:
                data = self.socket.recv(1 << 18)
            except TimeoutError:
                return None
            except OSError:
                data = b""
            if not data:
                self.is_open = False
                return None
            self.bytes_received += len(data)
            self._waiting.extend(self._stream.feed(data))
        return self._waiting.pop(0)

    def close(self) -> None:
        """End it."""
        try:
            self.send_raw(client_frame(Opcode.CLOSE, b"\x03\xe8"))
        except OSError:
            pass
        self.socket.close()


class Tab:
    """One page of the browser."""

    def __init__(self, line: Line) -> None:
        self._line = line
        self._number = 0
        self.events: list[dict[str, Any]] = []
        self.do("Page.enable")
        self.do("Runtime.enable")

    def do(self, method: str, **values: Any) -> dict[str, Any]:
        """Call a method of the protocol and return its result."""
        self._number += 1
        self._line.send({"id": self._number, "method": method, "params": values})
        while True:
            message = self._line.receive(120.0)
            assert message is not None, f"{method}: no answer"
            answer = json.loads(message.payload)
            if answer.get("id") == self._number:
                assert "error" not in answer, f"{method}: {answer['error']}"
                result: dict[str, Any] = answer["result"]
                return result
            self.events.append(answer)

    def close(self) -> None:
        """End the line to it."""
        self._line.close()

    def run(self, script: str) -> Any:
        """The value of a JavaScript expression, awaited."""
        result = self.do(
            "Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True
        )
        assert "exceptionDetails" not in result, result["exceptionDetails"]
        return result["result"].get("value")

    def wait_for(self, script: str, timeout: float = 120.0) -> Any:
        """Until an expression is true; returns it."""
        return wait_for(lambda: self.run(script), script, timeout)

    def open(self, address: str) -> None:
        """Go to an address, and stay until the page is there."""
        self.do("Page.navigate", url=address)

    def resize(self, width: int, height: int, ratio: float = 1.0, *, touch: bool = False) -> None:
        """Another size of the window, or pixels per point."""
        self.do(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=ratio, mobile=False,
        )  # fmt: skip
        self.do("Emulation.setTouchEmulationEnabled", enabled=touch)

    # What a person does ---------------------------------------------------------------------------

    def mouse(self, kind: str, x: float, y: float, button: str = "none", **more: Any) -> None:
        """`Moved`, `Pressed`, `Released` or `Wheel` at a place of the page."""
        self.do("Input.dispatchMouseEvent", type=f"mouse{kind}", x=x, y=y, button=button, **more)

    def click(self, x: float, y: float, button: str = "left", count: int = 1) -> None:
        """Click somewhere."""
        self.mouse("Moved", x, y)
        for n in range(1, count + 1):
            self.mouse("Pressed", x, y, button, clickCount=n)
            self.mouse("Released", x, y, button, clickCount=n)

    def drag(self, start: tuple[float, float], end: tuple[float, float], steps: int = 6) -> None:
        """Press, move, let go; the pauses let the editor see every place."""
        self.mouse("Moved", *start)
        self.pause()
        self.mouse("Pressed", *start, "left", clickCount=1, buttons=1)
        self.pause()
        for i in range(1, steps + 1):
            share = i / steps
            x, y = (a + (b - a) * share for a, b in zip(start, end, strict=True))
            self.mouse("Moved", x, y, "left", buttons=1)
            self.pause()
        self.mouse("Released", *end, "left", clickCount=1)
        self.pause()

    def key(self, key: str, code: str, number: int, modifiers: int = 0, text: str = "") -> None:
        """Press a key; modifiers: 1 Alt, 2 Ctrl, 8 Shift."""
        common = {
            "key": key, "code": code, "windowsVirtualKeyCode": number, "modifiers": modifiers,
        }  # fmt: skip
        down = {**common, "text": text} if text else common
        self.do("Input.dispatchKeyEvent", type="keyDown" if text else "rawKeyDown", **down)
        self.do("Input.dispatchKeyEvent", type="keyUp", **common)

    def type(self, text: str) -> None:
        """Type letters."""
        for sign in text:
            self.key(sign, f"Key{sign.upper()}", ord(sign.upper()), text=sign)

    def pause(self) -> None:
        """Until a frame that shows everything done so far is drawn."""
        self.run(
            "(async () => { const want = mjrig.connection.inputs; const end = Date.now() + 60000;"
            "while (mjrig.statistics.input < want && Date.now() < end)"
            " await new Promise(r => setTimeout(r, 5)); })()"
        )

    def picture(self) -> Any:
        """What the page shows, (height, width, 3)."""
        from PIL import Image

        shot = self.do("Page.captureScreenshot", format="png")["data"]
        return np.asarray(Image.open(io.BytesIO(base64.b64decode(shot))).convert("RGB"))


class Chromium:
    """The browser; `tabs` are its pages."""

    def __init__(self) -> None:
        assert PROGRAM is not None
        self._folder = tempfile.mkdtemp(prefix="mjrig-chromium-")
        self._tabs: list[Tab] = []
        self._process = subprocess.Popen(
            [PROGRAM, *_OPTIONS, f"--user-data-dir={self._folder}", "about:blank"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "HOME": self._folder},
            start_new_session=True,
        )
        assert self._process.stderr is not None
        for line in self._process.stderr:
            if "DevTools listening on" in line:
                self.port = int(urlsplit(line.split()[-1]).port or 0)
                break
        else:
            raise RuntimeError("Chromium did not start")

    def new_tab(self) -> Tab:
        """A page, empty."""
        address = f"http://127.0.0.1:{self.port}/json/new?about:blank"
        request = urllib.request.Request(address, method="PUT")
        with urllib.request.urlopen(request, timeout=20.0) as answer:
            target = json.load(answer)
        line = Line(target["webSocketDebuggerUrl"], Sec_WebSocket_Extensions="")
        self._tabs.append(Tab(line))
        return self._tabs[-1]

    def close_tab(self, tab: Tab) -> None:
        """Close a page."""
        tab.do("Page.close")
        tab.close()

    def show(self, tab: Tab) -> None:
        """Bring a page to the front; others are not drawn."""
        tab.do("Page.bringToFront")

    def close(self) -> None:
        """End it."""
        for tab in self._tabs:
            tab.close()
        self._process.terminate()
        try:
            self._process.wait(10.0)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        assert self._process.stderr is not None
        self._process.stderr.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def wait_for(condition: Callable[[], Any], what: str = "", timeout: float = 120.0) -> Any:
    """Until a condition is true; returns it."""
    end = time.monotonic() + timeout
    while True:
        value = condition()
        if value:
            return value
        assert time.monotonic() < end, f"not within {timeout} s: {what}"
        time.sleep(0.03)
