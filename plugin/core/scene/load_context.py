"""LoadContext: variables, sandbox, trusted folders and including files of a scene being read."""

import gc
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from mjrig.core.errors import LocatedError, PropertyError, SceneError
from mjrig.core.files.atomic_writes import folder_lock, why_not_written
from mjrig.core.files.paths import nearest_files, read_limited
from mjrig.core.files.sandbox import Sandbox
from mjrig.core.yaml_text.yaml_document import MAX_CHARACTERS, MAX_NODES, SHORT

#: Whether the code beside a scene may be run: in its own folder, in another, or in several.
Trust = bool | str | Path | Sequence[Path]
MAX_DEPTH = 16
MAX_FILES = 256
#: Gives an error about a value its place in the file that set it.
Elsewhere = Callable[[LocatedError], SceneError | None]


class FileBudget:
    """Counts what is read for one scene, before it is read: includes can multiply."""

    def __init__(self) -> None:
        self._files = self._characters = self._values = 0
        self._closed = False

    def take(self, characters: int) -> None:
        """Count one more file.

        Raises:
            PropertyError: there are too many, or they are too long together.
        """
        if self._closed:
            return
        self._files += 1
        self._characters += characters
        if self._files > MAX_FILES:
            raise PropertyError(f"the scene includes more than {MAX_FILES} files")
        if self._characters > MAX_CHARACTERS:
            raise PropertyError(
                f"the scene and the files it includes have more than {MAX_CHARACTERS} characters"
            )

    def take_values(self, count: int) -> None:
        """Count the values of a file.

        Raises:
            PropertyError: there are too many in all files.
        """
        self._values += 0 if self._closed else count
        if self._values > MAX_NODES:
            raise PropertyError(
                f"the scene and the files it includes have more than {MAX_NODES} values"
            )

    def close(self) -> None:
        """Stop counting: files that are read later replace others."""
        self._closed = True


@dataclass(frozen=True)
class Reading:
    """What is given from outside the file."""

    vars: Mapping[str, Any] = field(default_factory=dict)
    sandbox: Sandbox | None = None
    #: The folders whose modules may be run, without links in their names.
    trusted: tuple[Path, ...] = ()
    #: The files that include it, outermost first, itself last.
    chain: tuple[Path, ...] = ()
    budget: FileBudget = field(default_factory=FileBudget, compare=False)

    def into(self, path: Path) -> "Reading":
        """The same for a file that is read now.

        Raises:
            PropertyError: it is being read already, or includes are nested too deeply.
        """
        real = Path(os.path.realpath(path))
        if real in self.chain:
            names = [p.name for p in (*self.chain[self.chain.index(real) :], real)]
            raise PropertyError(f"the file includes itself: {' → '.join(names)}")
        if len(self.chain) >= MAX_DEPTH:
            raise PropertyError(f"includes are nested more than {MAX_DEPTH} deep")
        return replace(self, chain=(*self.chain, real))

    def with_vars(self, values: Mapping[str, Any]) -> "Reading":
        """The same with other variables."""
        return replace(self, vars=dict(values))


@contextmanager
def without_collector(text: str) -> Iterator[None]:
    """Pause Python's garbage collector while a long text is read.

    It would look again and again through values that all stay, for most of the time it takes.
    """
    if len(text) <= SHORT or not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def sandbox_of(path: Path, sandbox: bool | str | Path) -> Sandbox | None:
    """The sandbox a caller asks for: the file's own folder, another one, or none."""
    if sandbox is False:
        return None
    return Sandbox.at(path.parent if sandbox is True else sandbox)


def trusted_by(path: Path, trust: Trust, sandbox: bool | str | Path) -> tuple[Path, ...]:
    """The folders a caller trusts: the file's own, others, or none.

    Raises:
        SceneError: there is a sandbox too.
    """
    if isinstance(trust, bool):
        folders = [path.parent] if trust else []
    else:
        folders = [Path(trust)] if isinstance(trust, str | Path) else list(trust)
    if folders and sandbox is not False:
        raise SceneError(
            f"{path}:1:1: --trust and --sandbox exclude each other: a sandbox runs no code that is "
            "beside the scene"
        )
    return tuple(Path(os.path.realpath(folder)) for folder in folders)


def read_scene_file(path: Path) -> bytes:
    """The bytes of a scene file.

    Raises:
        SceneError: there is no such file, or it cannot be read.
    """
    try:
        return read_limited(path, 4 * MAX_CHARACTERS)
    except (OSError, ValueError) as error:
        raise SceneError(f"{path}:1:1: {_why_unreadable(path, error)}") from error


def decoded(content: bytes, path: Path) -> str:
    """The text of a scene file.

    Raises:
        SceneError: it is not UTF-8.
    """
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        before = content[: error.start].decode("utf-8")
        line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
        raise SceneError(f"{path}:{line}:{column}: not UTF-8 text: {error.reason}") from error


def write_scene_file(path: Path, text: str, known: bytes | None) -> None:
    """Replace the file of a scene in one go, and keep its previous content beside it.

    Args:
        path: the file.
        text: its new content.
        known: `digest` of the content that it must have if it is there; None: any.

    Raises:
        SceneError: it cannot be written, or has other content; it is as it was.
    """
    try:
        with folder_lock(path) as lock:  # nobody saves between the check and the replacement
            there = read_scene_file(path) if os.path.isfile(path) else None
            if known is not None and there is not None and digest(there) != known:
                raise SceneError(
                    f"{path}:1:1: was changed on disk since it was read; reload() reads it, "
                    "save(overwrite=True) replaces it"
                )
            if there != text.encode("utf-8"):
                lock.replace(text, backup=True)
    except OSError as error:
        raise SceneError(why_not_written(path, error)) from error


def digest(content: bytes) -> bytes:
    """What tells the content of a file from another one."""
    return sha256(content).digest()


def _why_unreadable(path: Path, error: Exception) -> str:
    if isinstance(error, FileNotFoundError):
        return f"there is no such file{nearest_files(path, (path.suffix.lower(),))}"
    return f"cannot be read: {getattr(error, 'strerror', None) or error}"
