"""Progress of long work, on a terminal only: a bar for runs, a line for work without steps."""

import sys
import threading
import time
from typing import Self

WIDTH = 30
#: Runs shorter than this show nothing.
PATIENCE_S = 0.5


class Progress:
    """Shows the share done, simulated time and time left; a context manager."""

    def __init__(self, total: int, timestep: float) -> None:
        self._total, self._timestep = max(total, 1), timestep
        self._began = self._shown = time.perf_counter()
        self._active = sys.stderr.isatty()
        self._drawn = False

    def __enter__(self) -> Self:
        return self

    def update(self, done: float) -> None:
        """Show that `done` steps are done."""
        now = time.perf_counter()
        if not self._active or now - self._began < PATIENCE_S or now - self._shown < 0.1:
            return
        self._shown, self._drawn = now, True
        share = min(done / self._total, 1.0)
        left = (now - self._began) * (1.0 - share) / max(share, 1e-9)
        bar = ("█" * round(WIDTH * share)).ljust(WIDTH, "·")
        text = f"\r{bar} {share:4.0%}  {done * self._timestep:.1f} s simulated, {left:.0f} s left "
        print(text, end="", file=sys.stderr, flush=True)

    def __exit__(self, *_: object) -> None:
        if self._drawn:
            print("\r" + " " * (WIDTH + 50) + "\r", end="", file=sys.stderr, flush=True)


class Waiting:
    """After a second, says what is being done and for how long; a context manager."""

    def __init__(self, what: str, patience: float = 1.0) -> None:
        self._what, self._patience = what, patience
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._say, daemon=True)
        self._active = sys.stderr.isatty()

    def __enter__(self) -> Self:
        if self._active:
            self._thread.start()
        return self

    def now(self, what: str) -> None:
        """Say that something else is being done now."""
        self._what = what

    def _say(self) -> None:
        began, wait = time.perf_counter(), self._patience
        while not self._over.wait(wait):
            wait = 0.5
            passed = time.perf_counter() - began
            print(f"\r\033[K{self._what} … {passed:.0f} s", end="", file=sys.stderr, flush=True)

    def __exit__(self, *_: object) -> None:
        if self._active:
            self._over.set()
            self._thread.join()
            print("\r\033[K", end="", file=sys.stderr, flush=True)
