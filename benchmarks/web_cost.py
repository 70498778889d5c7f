"""Cost of the editor in a browser: time and bytes a frame, latency, the first picture.

    python -m benchmarks.web_cost

A server process shows the default layout at 1280x720 with the trotting quadruped. The figures of
the server are taken with a client that acknowledges at once; those of the page with Chromium,
whose WebGL is drawn by the processor here, if it is installed.
"""

import argparse
import json
import os
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.editor.web.chromium import PROGRAM, Chromium, Line, Tab

SCENE = Path(__file__).parent.parent / "config" / "scenes" / "quadruped_trot.yaml"
MEASURED = 10.0
BARS = {
    "CPU a frame beside physics [ms]": 6.0,
    "CPU of a frame with its panels [ms]": 6.0,
    "bytes a frame [kB]": 12.0,
    "bytes while nothing moves": 0.0,
    "frames a second (at least)": 30.0,
    "real-time factor (at least)": 0.99,
    "mouse to frame, playing, median [ms]": 20.0,
    "first picture [MB]": 0.6,
    "Chromium: mouse to changed pixel, median [ms]": 200.0,
}


def serve() -> None:
    """The server process: tells its address, then plays or pauses as it is told.

    It answers with its simulated time, the processor time of all threads but the simulation's, and
    that of the frames with panels and their number.
    """
    import threading

    from mjrig.editor.main import opened
    from mjrig.editor.web.live_window import LiveWindow
    from mjrig.editor.web.server import ServerSettings

    screen = LiveWindow(ServerSettings())
    editor = opened(SCENE, trust=False, screen=screen)
    editor.window.tour.skip()
    print(screen.server.address(screen.server.tokens.command), flush=True)

    plain, drawn = screen.draw, [0.0, 0]

    def draw(window: Any) -> None:
        began = time.thread_time()
        plain(window)
        drawn[0] += time.thread_time() - began
        drawn[1] += 1

    screen.draw = draw  # type: ignore[method-assign]

    def beside_physics() -> float:
        (physics,) = (t for t in threading.enumerate() if t.name == "mjrig-sim")
        assert physics.ident is not None
        clock = time.pthread_getcpuclockid(physics.ident)
        return time.process_time() - time.clock_gettime(clock)

    def obey() -> None:
        for line in sys.stdin:
            if line == "play\n":
                editor.state.session.play()
            elif line == "pause\n":
                editor.simulation.pause()
            print(editor.simulation.frame.time, beside_physics(), *drawn, flush=True)
        editor.state.wants_to_close = True

    threading.Thread(target=obey, daemon=True).start()
    editor.run(lambda: screen.run(editor.window))


class ServerProcess:
    """The server, measured from outside."""

    def __init__(self, folder: str) -> None:
        names = ("XDG_CONFIG_HOME", "XDG_CACHE_HOME", "MJRIG_STATE")
        env = {**os.environ, **dict.fromkeys(names, folder)}
        env.pop("DISPLAY", None)
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.web_cost", "--serve"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=env,
        )
        assert self._process.stdout is not None
        self.address = self._process.stdout.readline().strip()

    def tell(self, word: str) -> tuple[float, ...]:
        """Say something to it; returns what it measured of itself."""
        process = self._process
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(f"{word}\n")
        process.stdin.flush()
        return tuple(float(value) for value in process.stdout.readline().split())

    def stop(self) -> None:
        """End it."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(20.0)


class Client:
    """A page without pictures: it acknowledges every frame at once."""

    def __init__(self, address: str) -> None:
        place, _, self.token = address.partition("/#")
        self.line = Line(f"{place.replace('http', 'ws')}/live", Origin=place)
        self.line.send({"token": self.token})
        self.line.send(["r", 1280, 720, 1])
        self.frames = 0
        self.shown = 0

    def take(self, timeout: float) -> bool:
        """One message; whether there was one."""
        message = self.line.receive(timeout)
        if message is None:
            return False
        if message.opcode == 2 and message.payload[0] in (1, 6):
            number, self.shown = struct.unpack_from("<II", message.payload, 4)
            self.frames += 1
            self.line.send(["a", number, 0])
        return True

    def listen(self, seconds: float) -> None:
        """Take messages for that long."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0.0:
            self.take(left)


def _assets(client: Client) -> int:
    """Bytes of the assets that the page fetches."""
    import urllib.request

    total = 0
    end = time.monotonic() + 5.0
    hashes: list[str] = []
    while time.monotonic() < end and client.frames < 2:
        message = client.line.receive(1.0)
        if message is None:
            continue
        if message.opcode == 1 and b'"model"' in message.payload:
            model = json.loads(message.payload)["model"]
            parts = [*model["meshes"], *model["textures"], *model["fields"]]
            hashes = [h for part in parts for h in (part["hash"], part.get("hull")) if h]
        elif message.opcode == 2 and message.payload[0] in (1, 6):
            client.frames += 1
            client.line.send(["a", struct.unpack_from("<I", message.payload, 4)[0], 0])
    host, port = client.line.socket.getpeername()
    for name in dict.fromkeys(hashes):
        request = urllib.request.Request(f"http://{host}:{port}/asset/{name}")
        request.add_header("Authorization", f"Bearer {client.token}")
        with urllib.request.urlopen(request, timeout=10.0) as answer:
            total += len(answer.read())
    return total


def _latency(client: Client, count: int = 60) -> float:
    times = []
    for i in range(1, count + 1):
        x, number = 300 + 5 * (i % 40), 1000 + i
        began = time.perf_counter()
        client.line.send(["m", x, 300 + i % 7, number])
        while client.shown != number and time.perf_counter() - began < 2.0:
            client.take(2.0)
        times.append(time.perf_counter() - began)
        client.listen(0.05)
    return statistics.median(times)


def measure_server(server: ServerProcess) -> dict[str, float]:
    """Everything that needs no browser."""
    found = {}
    first = Client(server.address)
    assets = _assets(first)
    page = sum(f.stat().st_size for f in Path(SCENE.parents[2], "editor/web/page").rglob("*.*"))
    found["first picture [MB]"] = (first.line.bytes_received + assets + page) / 1e6
    first.listen(3.0)
    received = first.line.bytes_received
    first.listen(3.0)
    found["bytes while nothing moves"] = float(first.line.bytes_received - received)
    first.line.close()
    server.tell("play")
    client = Client(server.address)
    client.listen(3.0)
    frames, received = client.frames, client.line.bytes_received
    began, before = time.monotonic(), server.tell("measure")
    client.listen(MEASURED)
    took, frames = time.monotonic() - began, client.frames - frames
    after = server.tell("measure")
    simulated, cpu, panels, count = (b - a for a, b in zip(before, after, strict=True))
    found["frames a second (at least)"] = frames / took
    found["real-time factor (at least)"] = simulated / took
    found["CPU a frame beside physics [ms]"] = 1e3 * cpu / frames
    found["CPU of a frame with its panels [ms]"] = 1e3 * panels / count
    found["bytes a frame [kB]"] = (client.line.bytes_received - received) / frames / 1e3
    found["mouse to frame, playing, median [ms]"] = 1e3 * _latency(client)
    client.line.close()
    server.tell("pause")
    return found


_CHANGED = """(async () => {
  const times = [];
  for (let i = 0; i < 20; i++) {
    const began = performance.now();
    document.getElementById("canvas").dispatchEvent(new PointerEvent("pointermove",
      {clientX: 40 + (i % 2) * 60, clientY: 115 + 19 * (i % 3), pointerType: "mouse"}));
    const want = mjrig.connection.inputs;
    while (mjrig.statistics.input < want && performance.now() - began < 3000)
      await new Promise((r) => setTimeout(r, 1));
    times.push(performance.now() - began);
    await new Promise((r) => setTimeout(r, 100));
  }
  return times;
})()"""


def measure_page(address: str) -> dict[str, float]:
    """From the mouse to a drawn frame that shows it, in Chromium."""
    with Chromium() as chromium:
        tab: Tab = chromium.new_tab()
        tab.resize(1280, 720)
        tab.open(address)
        tab.wait_for("window.mjrig && mjrig.statistics.drawn > 0", 60.0)
        time.sleep(3.0)
        times: list[float] = tab.run(_CHANGED)
    return {"Chromium: mouse to changed pixel, median [ms]": statistics.median(times)}


def report(found: dict[str, Any]) -> None:
    """Print the figures beside their bars."""
    for name, bar in BARS.items():
        value = found.get(name)
        shown = "not measured" if value is None else f"{value:.2f}"
        print(f"{name:48s} {shown:>14s}   bar {bar:g}")


def main() -> None:
    """Measure and report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    if parser.parse_args().serve:
        serve()
        return
    with tempfile.TemporaryDirectory() as folder:
        server = ServerProcess(folder)
        try:
            found = measure_server(server)
            if PROGRAM is not None:
                found |= measure_page(server.address)
        finally:
            server.stop()
    report(found)
    print(f"load of this machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")


if __name__ == "__main__":
    main()
