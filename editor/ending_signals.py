"""Signals that end the editor: it closes its window and keeps unsaved changes."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from mjrig.editor.session.state import EditorState

#: Windows has no SIGHUP.
_ENDING = [
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
]


@contextmanager
def ending_signals(state: EditorState) -> Iterator[None]:
    """Let a signal end the window's loop after its frame; a second one ends it at once.

    Outside of the main thread, as in a notebook, signals are not the editor's.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(number: int, frame: FrameType | None) -> None:
        if state.ended_by:  # the loop does not come round
            raise SystemExit(128 + number)
        state.ended_by = number

    before = {number: signal.signal(number, end) for number in _ENDING}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
