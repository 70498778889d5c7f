"""Files between editor and page: uploads beside the scene, downloads, pictures of the canvas."""

import io
import re
import secrets
import shutil
import threading
from collections import deque
from datetime import datetime
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO
from urllib.parse import quote

import numpy as np
from imgui_bundle import imgui

from mjrig.core.errors import MissingExtraError, MjrigError
from mjrig.editor.session.user_files import free_file
from mjrig.editor.text import tr
from mjrig.editor.ui.dialogs import Dialog
from mjrig.editor.ui.layout import px
from mjrig.editor.viewport.scene_renderer import Photographed
from mjrig.editor.web.audience import Audience
from mjrig.editor.web.browsers import Browser
from mjrig.editor.web.protocol import FILE_PART, MalformedError
from mjrig.editor.window.window import Window

# Offers -------------------------------------------------------------------------------------------


#: Files that can still be downloaded.
MOST_OFFERS = 100
_ATTACHED = "attachment; filename*=UTF-8''{}"


class Offers:
    """Files by names that cannot be guessed; only what the editor wrote is among them."""

    def __init__(self) -> None:
        self._files: dict[str, Path] = {}
        self._lock = threading.Lock()

    def add(self, path: Path) -> dict[str, Any]:
        """Offer a file; returns what the page is told. From any thread."""
        path, name = path.resolve(), secrets.token_urlsafe(16)
        with self._lock:
            for known in [n for n, p in self._files.items() if p == path]:
                del self._files[known]
            self._files[name] = path
            while len(self._files) > MOST_OFFERS:
                del self._files[next(iter(self._files))]
        size = path.stat().st_size if path.is_file() else 0
        return {"id": name, "name": path.name, "size": size}

    def body_of(self, path: str) -> tuple[Path, str, dict[str, str]] | None:
        """File, type and headers of `/download/NAME`; None: there is none. From any thread."""
        file = self._files.get(path.removeprefix("/download/"))
        if file is None or not path.startswith("/download/") or not file.is_file():
            return None
        more = {"Content-Disposition": _ATTACHED.format(quote(file.name))}
        return file, "application/octet-stream", more


# Photographs --------------------------------------------------------------------------------------


#: Largest picture that is unpacked [pixels].
_LARGEST = 8192 * 8192
#: Pictures asked for at once.
_MOST = 8


class Photographs:
    """Asks the page that commands for pictures, and gives them to who wanted them."""

    def __init__(self, audience: Audience) -> None:
        self._audience = audience
        self._waiting: deque[Photographed] = deque()

    def ask(self, then: Photographed) -> None:
        """Ask for a picture.

        Raises:
            MjrigError: no page could take one.
        """
        if find_spec("PIL") is None:
            raise MissingExtraError(tr("a picture"), "editor")
        if self._audience.commander is None:
            raise MjrigError(tr("no picture: no browser is connected that could take it"))
        if len(self._waiting) >= _MOST:
            raise MjrigError(tr("no picture: the browser has not sent the ones before"))
        self._waiting.append(then)
        self._audience.tell({"photograph": True})

    def came(self, content: bytes) -> None:
        """A page sent one; what cannot be decoded is ignored."""
        if not self._waiting:
            return
        then = self._waiting.popleft()
        from PIL import Image

        try:
            image = Image.open(io.BytesIO(content), formats=("PNG", "JPEG"))
            if image.width * image.height > _LARGEST:
                return
            picture = np.asarray(image.convert("RGB"), np.uint8)
        except Exception:  # decoders have many kinds: SyntaxError, struct.error, zlib.error, …
            return
        then(picture)

    def leave(self) -> None:
        """A page is gone, and with it what it was asked for."""
        self._waiting.clear()


# Uploads ------------------------------------------------------------------------------------------


#: Most files and bytes of one drop.
MOST_FILES, MOST_BYTES = 2000, 256 << 20
_PART = re.compile(r"[^\x00-\x1f\x7f\\/:*?\"<>|.][^\x00-\x1f\x7f\\/:*?\"<>|]{0,199}")
_DEEPEST = 8


def is_good_name(name: object) -> bool:
    """Whether a name is a relative path that any system can write and none hides."""
    if not isinstance(name, str) or len(name) > 800 or not name.isprintable():
        return False
    parts = name.split("/")
    reserved = {"con", "prn", "aux", "nul"}
    return len(parts) <= _DEEPEST and all(
        _PART.fullmatch(p) and p[-1] not in ". " and p.split(".")[0].lower() not in reserved
        for p in parts
    )


class UploadDialog(Dialog):
    """Asks whether files may be written."""

    title = "Upload files"

    def __init__(self, uploads: "Uploads", window: Window) -> None:
        super().__init__(window.state)
        self._uploads = uploads

    def content(self) -> None:
        uploads = self._uploads
        for name, size in list(uploads.files.items())[:8]:
            imgui.text(f"{name}  {_shown_size(size)}")
        more = len(uploads.files) - 8
        if more > 0:
            imgui.text_disabled(tr("and {count} more", count=more))
        imgui.dummy(imgui.ImVec2(px(320), px(4)))
        total = _shown_size(sum(uploads.files.values()))
        imgui.text(tr("{total} will be written to", total=total))
        imgui.text_disabled(str(uploads.folder))
        if imgui.button(tr("Upload")):
            self.close()
            uploads.begin()
        imgui.same_line()
        if imgui.button(tr("Cancel")):
            self.close()
            uploads.abort()


class Uploads:
    """Drops of files, one at a time; only the page that commands may make them."""

    def __init__(self, window: Window, audience: Audience) -> None:
        self._window, self._audience = window, audience
        self.dialog = UploadDialog(self, window)
        window.add_dialog(self.dialog)
        self.files: dict[str, int] = {}
        self.folder = Path()
        self._browser: Browser | None = None
        self._at = (0.0, 0.0)
        self._is_writing = False
        self._open: tuple[str, BinaryIO] | None = None
        self._written: dict[str, int] = {}

    def offered(self, browser: Browser, x: float, y: float, files: list[tuple[str, int]]) -> None:
        """A page has files that were dropped onto it: ask whether they may come."""
        self.abort()
        listed: dict[str, int] = dict(files)
        problem = _problem(listed)
        if problem:
            self._window.state.console.fail(problem)
            self._window.viewport.refusals.reasons = [problem]
            return
        self.files, self._browser, self._at = listed, browser, (x, y)
        base = self._window.state.scene.base.resolve() / "uploads"
        self.folder = free_file(base, f"{datetime.now():%Y-%m-%d-%H%M%S}", "")
        self.dialog.open()

    def begin(self) -> None:
        """The user agrees: ask the page for the files."""
        if self._browser is not None and self._window.state.attempt(self._make_folder):
            self._is_writing, self._written = True, {}
            self._audience.tell({"upload": True})

    def _make_folder(self) -> None:
        self.folder.mkdir(parents=True)

    def part(self, browser: Browser, message: bytes) -> None:
        """A part of a file: u8 1, u16 length of its name, its name, contents.

        Raises:
            MalformedError: it is no part of a file that was agreed to.
        """
        length = int.from_bytes(message[1:3], "little")
        name = message[3 : 3 + length].decode(errors="replace")
        content = message[3 + length :]
        if message[0] != FILE_PART or not self._is_writing or browser is not self._browser:
            raise MalformedError(tr("a part of a file nobody asked for"))
        so_far = self._written.get(name, 0) + len(content)
        if so_far > self.files.get(name, -1):
            raise MalformedError(tr("more of a file than was agreed to"))
        if not self._window.state.attempt(lambda: self._write(name, content)):
            self.abort()
        self._written[name] = so_far

    def _write(self, name: str, content: bytes) -> None:
        if self._open is None or self._open[0] != name:
            self._close_file()
            path = self.folder.joinpath(*PurePosixPath(name).parts)
            path.parent.mkdir(parents=True, exist_ok=True)
            self._open = name, path.open("xb")
        self._open[1].write(content)

    def _close_file(self) -> None:
        if self._open is not None:
            self._open[1].close()
            self._open = None

    def finish(self, browser: Browser) -> None:
        """All of them came: drop them into the window, as from the desktop."""
        if not self._is_writing or browser is not self._browser:
            return
        self._close_file()
        if self._written != self.files:
            self._window.state.console.fail(tr("the upload is not complete; it was removed"))
            self.abort()
            return
        self._is_writing = False
        tops = dict.fromkeys(self.folder / name.split("/")[0] for name in self.files)
        said = tr("uploaded {count} to {folder}", count=len(self.files), folder=self.folder)
        self._window.state.console.say(said)
        self._window.files_dropped(list(tops), self._at)

    def cannot_be_read(self) -> None:
        """The page cannot read what was dropped: a file is gone, or may not be read."""
        self.abort()
        problem = tr("the browser cannot read what was dropped; nothing was uploaded")
        self._window.state.console.fail(problem)
        self._window.viewport.refusals.reasons = [problem]

    def leave(self, browser: Browser) -> None:
        """A page is gone; what it had not sent completely is removed."""
        if browser is self._browser:
            self.abort()
            self._browser = None

    def abort(self) -> None:
        """Give up a drop, and remove what came of it."""
        self._close_file()
        if self._is_writing:
            shutil.rmtree(self.folder, ignore_errors=True)
        self._is_writing = False
        self.dialog.close()


def _problem(files: dict[str, int]) -> str:
    """Why these files cannot be uploaded; empty if they can."""
    bad = [name for name in files if not is_good_name(name)]
    if bad:
        return tr("{name!r} cannot be uploaded under this name", name=bad[0][:100])
    if not files:
        return tr("there is no file in what was dropped")
    if len(files) > MOST_FILES:
        return tr("{count} files are too many; at most {most}", count=len(files), most=MOST_FILES)
    if sum(files.values()) > MOST_BYTES:
        total, most = _shown_size(sum(files.values())), _shown_size(MOST_BYTES)
        return tr("{total} are too much for one upload; at most {most}", total=total, most=most)
    return ""


def _shown_size(count: int) -> str:
    if count >= 1e5:
        return tr("{size:.1f} MB", size=count / 1e6)
    return tr("{size:.1f} kB", size=count / 1e3)
