"""A progress bar for long runs, on a terminal only."""

import sys
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

    def update(self, done: int) -> None:
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
