"""What WebSocket subscribers cost the world: `python benchmarks/subscriber_cost.py`.

The bundled quadruped is served in real time to 0, 1, 64 and 600 subscribers of another process, and
to 600 that never read. Printed for each: simulated time by wall time, the same relative to no
subscribers, processor time of the process that steps, its threads, and the states of a subscriber.
"""

import argparse
import asyncio
import json
import multiprocessing
import resource
import statistics
import threading
import time
from multiprocessing.connection import Connection
from pathlib import Path

import mjrig
from mjrig.components.bridges.serving import Serving
from mjrig.components.bridges.socket_bridge import SocketBridge

#: Lowest simulated time by wall time that passes: the world is not slowed down.
BAR = 0.95
SCENE = Path(__file__).parents[1] / "config" / "scenes" / "quadruped_served.yaml"


def subscribe(address: str, count: int, reads: bool, link: Connection) -> None:
    """The process of the subscribers; it sends the number of received states when asked."""
    raise_file_limit()
    asyncio.run(_subscribe(address, count, reads, link))


async def _subscribe(address: str, count: int, reads: bool, link: Connection) -> None:
    host, port = address.removeprefix("ws://").rsplit(":", 1)
    subscription = json.dumps({"op": "subscribe"}).encode()
    mask = b"\0\0\0\0"
    frame = bytes([0x81, 0x80 | len(subscription)]) + mask + subscription
    handshake = (
        f"GET / HTTP/1.1\r\nHost: {host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
    ).encode()
    received = [0]
    streams = []

    async def read(reader: asyncio.StreamReader) -> None:
        try:
            while block := await reader.read(1 << 16):
                received[0] += block.count(b'{"time"')
        except OSError:
            pass

    tasks = []
    for _ in range(count):
        reader, writer = await asyncio.open_connection(host, int(port), limit=1 << 12)
        writer.write(handshake)
        await reader.readuntil(b"\r\n\r\n")
        writer.write(frame)
        streams.append(writer)
        if reads:
            tasks.append(asyncio.create_task(read(reader)))
    link.send("ready")
    while True:
        await asyncio.sleep(0.02)
        if link.poll():
            link.recv()
            link.send(received[0])


def raise_file_limit() -> None:
    """Allow a file for every connection."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < 4096:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, hard), hard))


class Figures:
    """One measurement."""

    def __init__(self, count: int, reads: bool, seconds: float) -> None:
        scene = mjrig.Scene.load(SCENE)
        for port in ("port", "state_port", "websocket_port"):
            scene.set(f"quadruped.SocketBridge.{port}", 0)
        scene.set("quadruped.SocketBridge.max_clients", max(count, 1))
        scene.set("quadruped.UnitreeBridge.enabled", False)
        world = mjrig.World(scene)
        with Serving(world) as serving:
            bridge = next(b for b in serving.bridges if isinstance(b, SocketBridge))
            ours, theirs = multiprocessing.Pipe()
            arguments = (bridge.endpoints["websocket"], count, reads, theirs)
            clients = multiprocessing.get_context("spawn").Process(
                target=subscribe, args=arguments, daemon=True
            )
            clients.start()
            while not ours.poll():
                serving.run(0.05)
            ours.recv()
            serving.run(0.5)
            before = self._count(ours, serving)
            wall, processor, simulated = time.perf_counter(), time.process_time(), world.time
            serving.run(seconds)
            wall = time.perf_counter() - wall
            self.pace = (world.time - simulated) / wall
            self.processor = (time.process_time() - processor) / wall
            self.threads = threading.active_count()
            self.states = (self._count(ours, serving) - before) / wall / max(count, 1)
            clients.kill()
            clients.join()

    def _count(self, link: "Connection", serving: Serving) -> int:
        link.send("count")
        while not link.poll():
            serving.run(0.01)
        return int(link.recv())


def main() -> int:
    """Measure and print; 1: the world was slowed down."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=2.0, help="of each measurement")
    parser.add_argument("--rounds", type=int, default=3, help="of which the median counts")
    options = parser.parse_args()
    raise_file_limit()
    cases = ((0, True), (1, True), (64, True), (600, True), (600, False))
    # Interleaved, so that other programs disturb all of them alike.
    rounds = [[Figures(*case, options.seconds) for case in cases] for _ in range(options.rounds)]
    print("subscribers   sim/wall  by 0 subscribers   processor  threads  states/s each")
    slow, base = 0, statistics.median(figures[0].pace for figures in rounds)
    for (count, reads), several in zip(cases, zip(*rounds, strict=True), strict=True):
        pace, processor, states = (
            statistics.median(getattr(figures, name) for figures in several)
            for name in ("pace", "processor", "states")
        )
        slow += pace / base < BAR
        name = f"{count}{'' if reads else ' silent'}"
        print(
            f"{name:12}  {pace:8.3f}  {pace / base:16.3f}  {processor:10.2f}  "
            f"{several[0].threads:7}  {states:13.1f}"
        )
    print(f"bar: {BAR} of the speed without subscribers: {'missed' if slow else 'met'}")
    return int(slow > 0)


if __name__ == "__main__":
    raise SystemExit(main())
