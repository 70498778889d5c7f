"""Which files of a folder are opened, by anybody: Python, MuJoCo, onnxruntime."""

import ctypes
import os
import struct
import sys
from pathlib import Path
from types import TracebackType
from typing import Self

import pytest

_IN_OPEN = 0x20
_HEADER = struct.Struct("iIII")


class OpenedFiles:
    """Notes every file of a folder that is opened while the context lasts (Linux only)."""

    def __init__(self, folder: Path) -> None:
        if not sys.platform.startswith("linux"):
            pytest.skip("needs inotify")
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._folder = folder
        self._queue = -1

    def __enter__(self) -> Self:
        self._queue = self._libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        assert self._queue >= 0
        watch = self._libc.inotify_add_watch(self._queue, os.fsencode(self._folder), _IN_OPEN)
        assert watch >= 0
        return self

    def names(self) -> set[str]:
        """The files opened since this was last asked."""
        found: set[str] = set()
        while True:
            try:
                events = os.read(self._queue, 65536)
            except BlockingIOError:
                return found
            at = 0
            while at < len(events):
                _, _, _, length = _HEADER.unpack_from(events, at)
                name = events[at + _HEADER.size : at + _HEADER.size + length].rstrip(b"\0")
                found.add(os.fsdecode(name))
                at += _HEADER.size + length

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        os.close(self._queue)
