"""FileWatch: which files of a scene were changed on disk, once they are written to the end."""

from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from mjrig.scene_edit.watch import Signature, signature

#: Time between two looks at the files [s].
INTERVAL = 1.0
#: A larger file counts as changed by its size and time alone [bytes].
_LARGE = 50_000_000
_About = tuple[int, int, int] | None


@dataclass(frozen=True)
class _Known:
    about: _About
    digest: bytes


class FileWatch:
    """Looks at files once a second; what was only touched, or is still being written, is not told.

    A file has been written to the end when two looks find it alike.
    """

    def __init__(self) -> None:
        self._known: dict[Path, _Known] = {}
        self._moving: Signature = {}
        self._due = 0.0

    def is_due(self, now: float) -> bool:
        """Whether it is time for another look."""
        return now >= self._due

    def follow(self, files: Iterable[Path]) -> None:
        """Watch these files from now on; those watched before as they were then."""
        wanted = set(files)
        new = signature(wanted - self._known.keys())
        self._known = {p: known for p, known in self._known.items() if p in wanted}
        self._known |= {p: _Known(about, _digest(p, about)) for p, about in new.items()}

    def look(self, now: float) -> list[Path]:
        """The files whose content changed since the last time they were told."""
        self._due = now + INTERVAL
        present = signature(self._known)
        moving = {p: about for p, about in present.items() if about != self._known[p].about}
        still = [p for p, about in moving.items() if about and self._moving.get(p) == about]
        self._moving = moving
        return [p for p in still if self._is_new(p, present[p])]

    def _is_new(self, path: Path, about: _About) -> bool:
        before = self._known[path].digest
        digest = _digest(path, about)
        self._known[path] = _Known(about, digest)
        return digest != before


def _digest(path: Path, about: _About) -> bytes:
    if about is None:
        return b""
    if about[1] > _LARGE:
        return repr(about).encode()
    try:
        return sha256(path.read_bytes()).digest()
    except OSError:
        return b""
