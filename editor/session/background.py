"""Background: work that takes longer than a frame, on a thread, polled once per frame."""

import threading
import traceback
from collections.abc import Callable
from typing import Generic, TypeVar

from mjrig.core.errors import MjrigError
from mjrig.editor.session.console import Console
from mjrig.editor.text import error_text

T = TypeVar("T")


class Background(Generic[T]):
    """One piece of work that has begun; nothing it does may touch the window or the world.

    Args:
        run: the work.
        name: name of the thread.
    """

    def __init__(self, run: Callable[[], T], name: str) -> None:
        self._run = run
        self._result: list[T] = []
        self.error: Exception | None = None
        self._trace = ""
        self._thread = threading.Thread(target=self._do, name=name, daemon=True)
        self._thread.start()

    def _do(self) -> None:
        try:
            self._result.append(self._run())
        except Exception as error:  # any failure must leave the window running
            self.error, self._trace = error, traceback.format_exc()

    @property
    def is_done(self) -> bool:
        """Whether it ended, successfully or not."""
        return not self._thread.is_alive()

    def wait(self) -> None:
        """Wait until it ended."""
        self._thread.join()

    def result(self) -> T:
        """The result, once it is done; raises what it raised."""
        if self.error is not None:
            raise self.error
        return self._result[0]

    def told(self, console: Console) -> T | None:
        """The result; None after an error, which goes to the console."""
        if self.error is None:
            return self._result[0]
        detail = "" if isinstance(self.error, MjrigError) else self._trace
        console.fail(error_text(self.error), detail)
        return None
