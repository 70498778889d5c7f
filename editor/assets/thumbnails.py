"""Thumbnails of models and scenes: drawn in a separate process, cached on disk, ready later.

`Pictures` uploads each of them once as a texture.
"""

import hashlib
import os
import re
import sys
import threading
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from mjrig.core.processes.child_process import ChildEndedError, ChildProcess
from mjrig.core.scene.scene_description import SCENES
from mjrig.editor.assets import thumbnail_worker
from mjrig.editor.session.user_files import cache_folder
from mjrig.editor.text import tr

SIZE = (256, 192)
#: Grows when pictures are drawn in another way.
VERSION = 2
#: What may be the name of a file in the text of a scene.
_FILE_NAMES = re.compile(r"[^\s\"'{}\[\],#]+\.\w+")
Picture = np.ndarray[Any, np.dtype[np.uint8]]


def key_of(path: Path) -> str:
    """What a picture is kept under: the content of the file, where its meshes are, and for a scene
    the version of the files it names.

    Raises:
        OSError: it cannot be read.
    """
    digest = hashlib.sha256(f"{VERSION} {SIZE} {path.resolve().parent}".encode())
    content = path.read_bytes()
    digest.update(content)
    if path.suffix.lower() in SCENES:
        for word in _FILE_NAMES.findall(content.decode("utf-8", "replace")):
            named = path.parent / word
            if named.is_file():
                digest.update(f"{word} {named.stat().st_mtime_ns}".encode())
    return digest.hexdigest()


class Thumbnails:
    """Pictures by file; asking for one starts it.

    Args:
        folder: where they are kept; None: the user's cache.
        backends: what MuJoCo may draw with, in order.
    """

    def __init__(self, folder: Path | None = None, backends: tuple[str, ...] | None = None) -> None:
        self._folder = folder if folder is not None else cache_folder() / "thumbnails"
        self._backends = backends if backends is not None else _backends()
        self._wanted: deque[Path] = deque()
        self._asked: set[Path] = set()
        self._ready: dict[Path, Picture] = {}
        self._failed: dict[Path, str] = {}
        self._wake = threading.Event()
        self._ending = False
        self._thread: threading.Thread | None = None
        self._worker: ChildProcess | None = None
        self._no_drawing = ""

    def get(self, path: Path) -> Picture | None:
        """The picture of a model or scene, (height, width, 3); None until it is there."""
        if path not in self._asked:
            self._asked.add(path)
            self._wanted.append(path)
            self._start()
            self._wake.set()
        return self._ready.get(path)

    @property
    def is_drawing(self) -> bool:
        """Whether something requested is neither drawn nor has failed."""
        return len(self._ready) + len(self._failed) < len(self._asked)

    def why_not(self, path: Path) -> str:
        """Why there will be no picture of a model; empty if there may be."""
        return self._failed.get(path, "")

    def wait(self) -> None:
        """Wait until everything requested is drawn or has failed."""
        while any(p not in self._ready and p not in self._failed for p in tuple(self._asked)):
            assert self._thread is not None
            self._thread.join(0.02)

    def stop(self) -> None:
        """End the process; stopping twice is fine."""
        self._ending = True
        self._wake.set()
        worker = self._worker
        if worker is not None:
            worker.kill()  # what is being drawn is not waited for
        if self._thread is not None:
            self._thread.join()

    def _start(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="mjrig-thumbnails", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        while not self._ending:
            if not self._wanted:
                self._wake.wait()
                self._wake.clear()
                continue
            path = self._wanted.popleft()
            try:
                self._ready[path] = self._picture(path)
            except Exception as error:  # any failure must leave the asset browser running
                self._failed[path] = str(error) or type(error).__name__
        if self._worker is not None:
            self._worker.stop()

    def _picture(self, path: Path) -> Picture:
        kept = self._folder / f"{key_of(path)}.npy"
        if kept.is_file():
            try:
                return _read(kept)
            except (ValueError, EOFError):
                kept.unlink()  # damaged: draw it again
        self._folder.mkdir(parents=True, exist_ok=True)
        problem = self._draw(path, kept)
        if problem:
            raise RuntimeError(problem)
        return _read(kept)

    def _draw(self, path: Path, kept: Path) -> str:
        worker = self._ready_worker()
        if worker is None:
            return self._no_drawing
        width, height = SIZE
        job = {"model": str(path.absolute()), "picture": str(kept)}
        try:
            problem: str = worker.ask({**job, "width": width, "height": height})
        except ChildEndedError:
            self._worker = None  # the next one gets another process
            return tr("the process that drew it crashed")
        return problem

    def _ready_worker(self) -> ChildProcess | None:
        if self._worker is not None or self._no_drawing:
            return self._worker
        problems = []
        for backend in self._backends:
            environment = {"MUJOCO_GL": backend} if backend else {}
            worker = ChildProcess([thumbnail_worker.__file__], environment=environment)
            try:
                worker.receive()  # that it can draw
            except ChildEndedError as error:
                problems.append(f"{backend or 'default'}: {error}")
                continue
            self._worker = worker
            return worker
        self._no_drawing = tr("no rendering backend works ({names})", names="; ".join(problems))
        return None


def _read(path: Path) -> Picture:
    picture: Picture = np.load(path, allow_pickle=False)
    if picture.dtype != np.uint8 or picture.shape != (SIZE[1], SIZE[0], 3):
        raise ValueError(tr("{path} is not a thumbnail", path=path))
    return picture


def _backends() -> tuple[str, ...]:
    """What may work here; MuJoCo chooses by itself where there is only one way."""
    if sys.platform != "linux":
        return ("",)
    return ("egl", "glfw") if os.environ.get("DISPLAY") else ("egl", "osmesa")


# Pictures -----------------------------------------------------------------------------------------


Upload = Callable[[Picture], int]


class Pictures:
    """The textures of one window.

    Args:
        thumbnails: draws the pictures.
        upload: makes a texture of a picture and returns its id; None: there are no pictures.
    """

    def __init__(self, thumbnails: Thumbnails, upload: Upload | None) -> None:
        self.thumbnails = thumbnails
        self._upload = upload
        self._textures: dict[Path, int] = {}

    def texture(self, path: Path) -> int | None:
        """The texture of a file's thumbnail; None until it is drawn."""
        if self._upload is None:
            return None
        if path not in self._textures:
            picture = self.thumbnails.get(path)
            if picture is None:
                return None
            self._textures[path] = self._upload(picture)
        return self._textures[path]
