"""SceneFile: a scene description read from a file, and saved to it."""

import gc
import os
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, Self

from mjrig.core.errors import (
    LocatedError,
    MissingExtraError,
    PropertyError,
    SceneError,
    UntrustedError,
    phrase,
    untrusted_folder,
)
from mjrig.core.files.atomic_writes import folder_lock, why_not_written
from mjrig.core.files.paths import (
    MODELS,
    Content,
    content_of,
    head_of,
    is_in_package,
    kind_of,
    nearest_files,
    read_limited,
    root_element,
)
from mjrig.core.files.sandbox import Sandbox
from mjrig.core.names import unique
from mjrig.core.properties.has_properties import HasProperties
from mjrig.core.properties.scalar_kinds import FilePath
from mjrig.core.scene.scene_text import FORMAT, SceneText, TracksItems, item_tree, new_text, update
from mjrig.core.yaml_text.yaml_document import MAX_CHARACTERS, MAX_NODES, SHORT, Keys

# Model files and file names -----------------------------------------------------------------------

#: File names that describe nothing; the folder's name is used instead.
_VAGUE = ("scene", "model", "robot", "main", "index")
#: Suffixes that each kind of model may have; none: decided by the content alone.
_SUFFIXES = {
    Content.XML: (".xml", ".mjcf", ".urdf", ""),
    Content.MJB: (".mjb",),
    Content.ZIP: (".mjz", ".zip"),
}
_ROOTS = ("mujoco", "robot")


def holds_model(path: Path) -> bool:
    """Whether a file is a model rather than a scene, by its content.

    Raises:
        SceneError: it is neither, or a model whose name says something else.
    """
    head = head_of(path)
    kind = kind_of(head)
    if kind is Content.RECORDING:
        raise SceneError(
            f"{path}:1:1: is a recording, not a scene or model; `mjrig info` shows it, "
            "`mjrig replay` replays it"
        )
    if kind not in _SUFFIXES:
        if head and path.suffix.lower() == ".mjb":
            raise SceneError(f"{path}:1:1: is not a compiled MuJoCo model, despite its suffix")
        return False
    known = _SUFFIXES[kind]
    root = root_element(head) if kind is Content.XML else ""
    if root and root not in _ROOTS:
        what = "a fragment that MJCF files include" if root == "mujocoinclude" else "no model"
        raise SceneError(
            f"{path}:1:1: is {what}: its root element is <{root}>, not <mujoco> or <robot>"
        )
    if path.suffix.lower() not in known:
        what = "a MuJoCo model (XML)" if kind is Content.XML else str(kind)
        raise SceneError(
            f"{path}:1:1: holds {what}, despite its suffix; rename it to {path.stem}{known[0]}"
        )
    return True


def actor_name(value: str, taken: Iterable[str] = ()) -> str:
    """A name for an actor made from a file: letters, digits, _ and -, and not taken."""
    path = Path(value)
    stem = path.stem
    if stem.lower() in _VAGUE and path.parent.name:
        stem = path.parent.name
    plain = unicodedata.normalize("NFKD", stem.replace("ß", "ss"))
    plain = plain.encode("ascii", "ignore").decode()
    name = re.sub(r"[^A-Za-z0-9_-]+", "_", plain).strip("_-")
    if not name:
        name = "actor"
    elif not name[0].isalpha():
        name = f"_{name}"
    return unique(name, list(taken))


def refuse_model(target: Path) -> None:
    """Refuse to write a scene over a model, or into a new file that is named like one.

    Raises:
        SceneError: it would; the message has a name that is fine.
    """
    kind = content_of(target)
    is_model = kind in _SUFFIXES and target.suffix.lower() in (*MODELS, "")
    if is_model or (target.suffix.lower() in MODELS and not target.exists()):
        what = "is a model, and a scene is" if is_model else "is the name of a model; a scene is"
        raise SceneError(
            f"{target}: {what} written to a file of its own, such as {target.with_suffix('.yaml')}"
        )


def moved(file: Path, old: Path, new: Path, *, shorten: bool = False) -> Path:
    """How a scene in the folder `new` names a file that one in `old` calls `file`.

    A name that leads to no file stays, and an absolute one, unless it is to be shortened and the
    file lies in the new folder or below.
    """
    if is_in_package(file) or ":" in file.parts[0]:
        return file
    whole, folder = os.path.abspath(old / file), os.path.abspath(new)
    if file.is_absolute():
        below = shorten and Path(whole).is_relative_to(folder)
        return Path(Path(whole).relative_to(folder).as_posix()) if below else file
    if os.path.abspath(old) == folder or not os.path.exists(whole):
        return file
    try:
        return Path(Path(os.path.relpath(whole, folder)).as_posix())
    except ValueError:  # on another drive there is no relative path
        return Path(whole)


@dataclass(frozen=True)
class NamedFile:
    """A file that an object of a scene names in one of its properties."""

    obj: HasProperties
    name: str
    file: Path

    @property
    def place(self) -> tuple[int, str, bool, str]:
        """Where it is named; where several are, the file is part of it."""
        prop = self.obj.property_named(self.name)
        several = not isinstance(prop, FilePath)
        return id(self.obj), self.name, several, str(self.file) if several else ""

    def move(self, old: Path, new: Path, *, shorten: bool) -> None:
        """Name the file that it means in the folder `old` as a scene in `new` does."""
        name = moved(self.file, old, new, shorten=shorten)
        if name != self.file:
            self.obj.property_named(self.name).rename_file(self.obj, self.file, str(name))

    def put_back(self) -> None:
        """Name the file as it did."""
        if self.obj.__dict__[self.name] != self.file:
            self.obj.property_named(self.name).assign(self.obj, str(self.file))


def named_files(objects: Iterable[HasProperties]) -> Iterator[NamedFile]:
    """Every file that they name."""
    for obj in objects:
        for prop in obj.properties():
            yield from (NamedFile(obj, prop.name, file) for file in prop.files(obj))


# Load context ------------------------------------------------------------------------------------


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
            f"{path}:1:1: trust and sandbox exclude each other: a sandbox runs no code that is "
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
                    f"{path}:1:1: was changed on disk since it was read; " + phrase("changed file")
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


# Scene file --------------------------------------------------------------------------------------


#: Names that no actor is given by itself: they begin other paths, or are the world's.
RESERVED = ("world", "scene", "sim", "vars")


class SceneFile(TracksItems):
    """Properties that are read from a scene file and saved to it."""

    _reading: Reading
    _path: Path | None
    _digest: bytes
    _base: Path
    #: The model that it was made around; None: it was read from a scene file, or made in Python.
    _model_file: Path | None
    #: What an including file or `--set` set: the path here → the function that locates it there.
    _set_by: dict[Keys, Elsewhere]

    def prepare(self) -> None:
        self._text, self._reading, self._set_by = None, Reading(), {}
        self._path, self._digest, self._base = None, b"", Path()
        self._model_file, self._removed, self._values = None, {}, None

    def check_read(self) -> None:
        """Hook: check as a whole what was read; raise PropertyError for what does not fit."""

    def forget_included(self) -> None:
        """Hook: read included files again when they are needed next."""

    # Reading and writing ------------------------------------------------------------------------

    @classmethod
    def load(
        cls,
        path: str | Path,
        *,
        vars: Mapping[str, object] | None = None,
        sandbox: bool | str | Path = False,
        trust: Trust = False,
    ) -> Self:
        """Read a scene file, and the files it includes; a model stands for a scene with it alone.

        Args:
            path: the file; what it is is decided by its content.
            vars: values that override those of the file's own `vars`; saving leaves them out.
            sandbox: refuse every file outside of the scene's folder, or of this folder.
            trust: run the code of types such as `my_module:MyController`, in modules of the scene's
                folder, or of these folders.

        Raises:
            SceneError: it cannot be read, or something in it is wrong; the message has the place.
            UntrustedError: it has such types, and their folder is not trusted.
        """
        path = Path(path)
        trusted = trusted_by(path, trust, sandbox)
        reading = Reading(dict(vars or {}), sandbox_of(path, sandbox), trusted)
        try:
            read = cls.around if holds_model(path) else cls.read_file
            made = read(path, reading)
        except PropertyError as error:
            raise SceneError(f"{path}:1:1: {error}") from error
        reading.budget.close()
        return made

    @classmethod
    def around(cls, model: Path, reading: Reading) -> Self:
        """A scene with one actor, the model as it is; it has no file yet.

        Raises:
            PropertyError: variables are given, which a model has not, or the name does not fit.
        """
        if reading.vars:
            raise PropertyError(f"a model has no variables: {', '.join(reading.vars)}")
        if reading.sandbox is not None:
            reading.sandbox.admit(model, model)
        made = cls.blank()
        made._base, made._reading, made._model_file = model.parent, reading, model
        name = actor_name(os.path.abspath(model), RESERVED)
        made.assign({"mjrig": FORMAT, "actors": [{"name": name, "model": model.name}]})
        return made

    @classmethod
    def read_file(cls, path: Path, reading: Reading) -> Self:
        """Read a scene file with variables, sandbox and including files given from outside.

        Raises:
            SceneError: it cannot be read, or something in it is wrong.
            PropertyError: what is given from outside is wrong: a variable or the including files.
        """
        if reading.sandbox is not None:
            reading.sandbox.admit(path, path)
        content = read_scene_file(path)
        text = decoded(content, path)
        reading.budget.take(len(text))
        made = cls._read(text, str(path), path.parent, reading.into(path))
        made._path, made._digest = path, digest(content)
        return made

    @classmethod
    def parse(
        cls,
        text: str,
        base: str | Path = ".",
        *,
        vars: Mapping[str, object] | None = None,
        sandbox: bool | str | Path = False,
        trust: Trust = False,
    ) -> Self:
        """Read a scene from text; files and modules it names are relative to `base`.

        Raises:
            SceneError: something in it is wrong.
        """
        file = Path(base) / "scene.yaml"
        trusted = trusted_by(file, trust, sandbox)
        reading = Reading(dict(vars or {}), sandbox_of(file, sandbox), trusted)
        try:
            made = cls._read(text, "<text>", Path(base), reading)
        except PropertyError as error:
            raise SceneError(f"<text>:1:1: {error}") from error
        reading.budget.close()
        return made

    @classmethod
    def _read(cls, text: str, file: str, base: Path, reading: Reading) -> Self:
        made = cls.blank()
        with without_collector(text):
            made._text = SceneText.read(text, file, reading.vars, reading.budget.take_values)
            made._base, made._reading = base, reading
            with made.locating():
                made.assign(made._text.data)
                made._understand(made._text)
                made.check_read()
        return made

    def save(
        self,
        path: str | Path | None = None,
        *,
        overwrite: bool = False,
        shorten: bool = False,
    ) -> None:
        """Write the scene; an untouched one comes out byte for byte as it was read.

        In another folder it names the same files, as `move_to` does. The previous content is kept
        beside the file, in `scene.yaml~`.

        Args:
            path: where to; None: the file it was read from or saved to last.
            overwrite: also if the file was changed on disk since it was read.
            shorten: also write absolute names of files in its folder or below relative to it.

        Raises:
            SceneError: there is no path, the file was changed since it was read, or it cannot be
                written; the old one is intact.
        """
        target = Path(path) if path is not None else self._path
        if target is None:
            raise SceneError(self._no_file())
        refuse_model(target)
        with self._moving_to(target.parent, shorten=shorten):
            text = self.to_text()
            is_mine = self._is_own(target) and not overwrite
            write_scene_file(target, text, self._digest if is_mine else None)
        self._note_saved(text, str(target))
        self._path, self._digest = target, digest(text.encode("utf-8"))

    def _no_file(self) -> str:
        if self._model_file is None:
            return "the scene has no file yet; give a path to save it to"
        return (
            f"{self._model_file}:1:1: is a model, which is left as it is; save the scene around it "
            "to a file of its own"
        )

    def move_to(self, folder: Path, *, shorten: bool = False) -> None:
        """Name every file as a scene in another folder does; what leads to no file stays.

        Args:
            folder: the one that names are relative to from now on.
            shorten: also write absolute names relative to it, of files that lie in it or below.
        """
        with self._moving_to(folder, shorten=shorten):
            pass

    @contextmanager
    def _moving_to(self, folder: Path, *, shorten: bool) -> Iterator[None]:
        """As `move_to`; an error inside takes it back."""
        names, before = list(named_files(self._family())), self._base
        if os.path.abspath(before) != os.path.abspath(folder):
            self._base = folder  # included files are read from there at once
        try:
            with self.changes():
                for named in names:
                    named.move(before, folder, shorten=shorten)
            yield
        except BaseException:
            self._base = before
            with self.changes():
                for named in names:
                    named.put_back()
            raise

    @contextmanager
    def names_from(self, folder: Path, *, shorten: bool = False) -> Iterator[None]:
        """Take the file names that are assigned inside for those of a scene in another folder."""
        before = {n.place: n.file for n in named_files(self._family())}
        yield
        with self.changes():
            for named in list(named_files(self._family())):
                if before.get(named.place) is not named.file:
                    named.move(folder, self._base, shorten=shorten)

    def to_text(self) -> str:
        """The scene as YAML, with the comments, order and style of the text it was read from."""
        data = self.to_data()
        return new_text(data) if self._text is None else self._text.updated(data, item_tree(self))

    @property
    def model_file(self) -> Path | None:
        """The model that it was made around, while it has no file of its own."""
        return self._model_file if self._path is None else None

    @property
    def source(self) -> Path | None:
        """The file it comes from: its own, or the model that it was made around."""
        return self._path or self._model_file

    def changed_on_disk(self) -> bool:
        """Whether its file differs from when it was last read or saved."""
        if self._path is None:
            return False
        try:
            return digest(read_scene_file(self._path)) != self._digest
        except SceneError:
            return True

    def reload(self) -> None:
        """Read the file and those it includes again; unsaved changes are lost.

        Actors and components that are still there are the same objects.

        Raises:
            SceneError: the scene has no file, or something in it is wrong; nothing was changed.
        """
        if self._path is None:
            raise SceneError("the scene has no file to read again")
        reading = replace(
            self._reading,
            vars=self.overrides,
            chain=self._reading.chain[:-1],
            budget=FileBudget(),
        )
        try:
            fresh = type(self).read_file(self._path, reading)
        except PropertyError as error:
            raise SceneError(f"{self._path}:1:1: {error}") from error
        with self.changes():
            self._text, self._digest, self._base = fresh._text, fresh._digest, fresh._base
            update(self, fresh.to_data())
            assert fresh._text is not None
            self._understand(fresh._text)
            self.forget_included()

    @property
    def version(self) -> object:
        """What it knows of its file, to `return_to` where what was reloaded cannot be used."""
        return self._text, self._digest, self._base

    def return_to(self, version: Any) -> None:
        """Take its file for what it was at an earlier `version`; the data is not changed."""
        self._text, self._digest, self._base = version
        self.forget_included()

    def _is_own(self, target: Path) -> bool:
        return self._path is not None and os.path.realpath(target) == os.path.realpath(self._path)

    @property
    def path(self) -> Path | None:
        """The file it was read from or saved to last."""
        return self._path

    @property
    def base(self) -> Path:
        """The folder that file names are relative to."""
        return self._base

    @property
    def reading(self) -> Reading:
        """How it was read; files it includes are read the same way."""
        return self._reading

    @property
    def is_from_text(self) -> bool:
        """Whether it was read or saved, so that its errors have a place in a file."""
        return self._text is not None

    def gate(self) -> Sandbox | None:
        return self._reading.sandbox

    def trusted_folders(self) -> tuple[Path, ...]:
        return self._reading.trusted

    def folder(self) -> Path:
        return self._base

    @property
    def overrides(self) -> Mapping[str, Any]:
        """Values of variables that override those of the file."""
        return self._text.resolved.overrides if self._text is not None else {}

    # Places of errors ---------------------------------------------------------------------------

    def remember_set(self, keys: Keys, elsewhere: Elsewhere) -> None:
        """Note that an including file or a flag sets `keys`: errors about it belong there."""
        others = {known: place for known, place in self._set_by.items() if known != keys}
        self._set_by = {**others, keys: elsewhere}

    @contextmanager
    def locating(self, *keys: Any) -> Iterator[None]:
        """Turn errors about this scene into SceneErrors with their place in the file.

        Args:
            keys: path of what is being processed, prepended to the error's own.
        """
        try:
            yield
        except MissingExtraError as error:
            if self._text is None:
                raise
            raise self._text.error(keys, str(error), about_key=False) from error
        except LocatedError as error:
            found = self.located((*keys, *error.keys), error)
            if found is None:
                raise
            folder = untrusted_folder(error)
            raise (found if folder is None else UntrustedError(str(found), folder)) from error

    def located(self, path: Keys, error: LocatedError) -> SceneError | None:
        """An error about the value at a path, with its place in the file; None if it has none."""
        whole = (*path, *error.at)
        for known, elsewhere in reversed(self._set_by.items()):  # what was set last holds
            if whole[: len(known)] == known:
                rest = LocatedError(str(error), at=whole[len(known) :], about_key=error.about_key)
                if (found := elsewhere(rest)) is not None:
                    return found
        if self._text is None:
            model = self._model_file
            if model is None:
                return None
            text = str(error)
            for name in (str(model), model.name):  # it is named in front
                text = text.replace(repr(name), "the model")
            return SceneError(f"{model}:1:1: {text}")
        at, about_key = error.at, error.about_key
        if not self._text.says(self.to_data(), path):  # edited since: the text shows another value
            at, about_key = (), True
        return self._text.error(path, str(error), at=at, about_key=about_key)
