"""Drop files onto a window as a desktop does: `python -m tests.editor.xdnd TITLE X Y FILE…`."""

import sys
import urllib.parse
from typing import Any

from Xlib import X, display
from Xlib.protocol import event

VERSION = 5


def main(title: str, x: int, y: int, *paths: str) -> None:
    """Offer the files at a place of the window, and wait until it took them."""
    screen = display.Display()
    root = screen.screen().root
    target = _find(root, title)
    source = root.create_window(0, 0, 1, 1, 0, X.CopyFromParent)
    corner = target.get_geometry()
    place = (x + corner.x, y + corner.y)
    _Drop(screen, target, source, place, paths).run()


def _find(window: Any, title: str) -> Any:
    for child in window.query_tree().children:
        name = child.get_wm_name()
        if name and title in str(name):
            return child
        found = _find(child, title)
        if found is not None:
            return found
    return None


class _Drop:
    def __init__(
        self, screen: Any, target: Any, source: Any, place: tuple[int, int], paths: tuple[str, ...]
    ) -> None:
        self._screen, self._target, self._source = screen, target, source
        self._place = place
        lines = (f"file://{urllib.parse.quote(path)}\r\n" for path in paths)
        self._body = "".join(lines).encode()

    def _send(self, kind: str, *data: int) -> None:
        values = [self._source.id, *data]
        message = event.ClientMessage(
            window=self._target,
            client_type=self._screen.intern_atom(kind),
            data=(32, values + [0] * (5 - len(values))),
        )
        self._target.send_event(message, event_mask=0)
        self._screen.flush()

    def run(self) -> None:
        atom = self._screen.intern_atom
        self._source.set_selection_owner(atom("XdndSelection"), X.CurrentTime)
        self._screen.screen().root.warp_pointer(*self._place)
        self._screen.sync()
        self._send("XdndEnter", VERSION << 24, atom("text/uri-list"))
        packed = self._place[0] << 16 | self._place[1]
        self._send("XdndPosition", 0, packed, X.CurrentTime, atom("XdndActionCopy"))
        while not self._answered(self._screen.next_event()):
            pass

    def _answered(self, came: Any) -> bool:
        if came.type == X.SelectionRequest:
            came.requestor.change_property(came.property, came.target, 8, self._body)
            notify = event.SelectionNotify(
                time=came.time,
                requestor=came.requestor,
                selection=came.selection,
                target=came.target,
                property=came.property,
            )
            came.requestor.send_event(notify)
            self._screen.flush()
        elif came.type == X.ClientMessage:
            kind = self._screen.get_atom_name(came.client_type)
            if kind == "XdndStatus":
                self._send("XdndDrop", 0, X.CurrentTime)
            return bool(kind == "XdndFinished")
        return False


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), *sys.argv[4:])
