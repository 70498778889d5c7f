"""Runs editors that edit their scene and then end in some way, each in a forked process.

The imports of the editor take most of its start, and are made once. A request is a line of JSON:
the arguments of `mjrig`, the way to end and the environment. The output of the editor follows, with
its process before and its exit code after it.
"""

import json
import os
import sys
from typing import Any

from mjrig.cli.main import main
from mjrig.editor import main as _desktop  # noqa: F401 - before the fork
from mjrig.editor.session.simulation import SimThread
from mjrig.editor.session.state import EditorState
from mjrig.editor.web import live_window
from mjrig.editor.window.app import App
from mjrig.editor.window.window import Window

#: Frames of two edits, and the values of kp: the first is autosaved at once, the second is not.
_EDITS = {3: 55, 4: 77}
#: Frames: the cause of the end, and the first frame after which a signal may come.
_CAUSE, _READY = 6, 9


def _break(way: str) -> None:
    raise SystemExit(3) if way == "exit" else RuntimeError("a mistake")


class _Ending:
    """Patches the editor of this process: it edits its scene and meets the cause of its end."""

    def __init__(self, way: str) -> None:
        self._way, self._frames = way, 0
        plain_frame, self._each_frame = App.frame, Window.each_frame
        plain_hear, plain_turn = EditorState.hear_events, live_window.LiveWindow.turn
        ending = self

        def frame(app: App) -> None:
            if way in ("crash", "frame") and ending._frames >= _CAUSE:
                ending._count()
                _break(way)
            plain_frame(app)

        def hear_events(state: EditorState) -> None:
            if way == "events" and ending._frames >= _CAUSE:
                _break(way)
            plain_hear(state)

        def turn(window: live_window.LiveWindow, *values: Any) -> None:
            if way == "crash" and ending._frames >= _CAUSE:
                _break(way)
            plain_turn(window, *values)

        def each_frame(window: Window) -> None:
            ending._at_each_frame(window)

        App.frame, Window.each_frame = frame, each_frame  # type: ignore[method-assign]
        EditorState.hear_events = hear_events  # type: ignore[method-assign]
        live_window.LiveWindow.turn = turn  # type: ignore[method-assign]
        live_window._ALONE = 0.02  # the page does not acknowledge: such an editor has few frames

    def _count(self) -> None:
        self._frames += 1
        if self._frames == _READY:
            print("edited", flush=True)

    def _at_each_frame(self, window: Any) -> None:
        self._count()
        self._each_frame(window)
        if self._frames in _EDITS:
            window.state.session.set("left.PDController.kp", _EDITS[self._frames])
        elif self._frames == _CAUSE:
            self._meet_cause(window)

    def _meet_cause(self, window: Any) -> None:
        way = self._way
        if way == "thread":
            SimThread.publish = lambda thread: _break(way)  # type: ignore[method-assign]
            window.state.simulation._wake.set()
            window.state.simulation._thread.join(20.0)
            assert not window.state.simulation._thread.is_alive()
        elif way in ("panel", "exit"):
            for panel in window.app.panels:
                panel.draw = lambda: _break(way)
        elif way == "abort":
            os.abort()
        elif way == "saved":
            assert window.files.save()
            window.parts.close()
        elif way == "discarded":
            window.parts.close()
            assert window.files.unsaved.is_open and not window.state.wants_to_close
            window.files.unsaved._then()  # Don't save


def _serve() -> None:
    for line in sys.stdin:
        request = json.loads(line)
        process = os.fork()
        if process == 0:
            os.environ.update(request["environment"])
            _Ending(request["way"])
            sys.exit(main(request["arguments"]))
        print("process", process, flush=True)
        _, status = os.waitpid(process, 0)
        print("\nexit", os.waitstatus_to_exitcode(status), flush=True)


if __name__ == "__main__":
    _serve()
