"""64 programs that subscribe and never read: one thread serves them, and the world runs on."""

import threading
import time
from contextlib import ExitStack, closing

from tests.components.bridges.socket_programs import deaf_subscriber, events, served

with served() as serving, ExitStack() as stack:
    before = threading.active_count()
    for _ in range(64):
        stack.enter_context(closing(deaf_subscriber(serving)))
    print(f"64 subscribers: {threading.active_count() - before} more threads")
    assert threading.active_count() == before
    start, clock = serving.world.time, time.perf_counter()
    serving.run(3.0)
    elapsed = time.perf_counter() - clock
    print(f"{serving.world.time - start:.2f} s simulated in {elapsed:.2f} s")
    print("\n".join(events(serving).splitlines()[:3]))
