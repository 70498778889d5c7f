"""Scene: the declarative description, exactly what the YAML says."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

from mjrig.actor import NAME, Actor
from mjrig.errors import LocatedError, MissingExtraError, MjrigError, PropertyError, SceneError
from mjrig.files import write_atomically
from mjrig.loose_kinds import Table, anything
from mjrig.names import suggestion
from mjrig.properties import HasProperties
from mjrig.property_kinds import Int, Nested, NestedList
from mjrig.scene_parts import CollisionGroup, Frame, Include, Randomise
from mjrig.sim_options import SimOptions
from mjrig.yaml_document import Document, Keys
from mjrig.yaml_edit import format_block, same, updated_text

FORMAT = 1
#: What a path calls the scene itself: `scene.seed`.
SCENE = "scene"


class Scene(HasProperties):
    """Actors and simulation options, made in Python or read from a file."""

    mjrig = Int(FORMAT, doc="Format version.")
    include = NestedList(
        Include,
        polymorphic=False,
        short="file",
        structural=True,
        doc="Scene files whose contents are in this scene too.",
    )
    vars = Table(anything, structural=True, doc="Variables, used as ${name}; any other value too.")
    sim = Nested(SimOptions, structural=True, doc="Simulation options.")
    seed = Int(0, min=0, structural=True, doc="Seed of the randomisation.")
    randomise = NestedList(
        Randomise, polymorphic=False, structural=True, doc="Properties drawn at random."
    )
    frames = NestedList(Frame, polymorphic=False, structural=True, doc="Named places.")
    collision_groups = NestedList(
        CollisionGroup, polymorphic=False, structural=True, doc="What does not collide with what."
    )
    actors = NestedList(Actor, polymorphic=False, structural=True, doc="What is in the scene.")

    _document: Document | None
    _path: Path | None
    _base: Path

    def prepare(self) -> None:
        self._document, self._path, self._base = None, None, Path()

    @property
    def label(self) -> str:
        return "scene"

    # Reading and writing ------------------------------------------------------------------------

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a scene file.

        Raises:
            SceneError: it cannot be read, or something in it is wrong; the message says where.
        """
        path = Path(path)
        try:
            text = path.read_bytes().decode("utf-8")
        except UnicodeDecodeError as error:
            before = error.object[: error.start].decode("utf-8")
            line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
            raise SceneError(f"{path}:{line}:{column}: not UTF-8 text: {error.reason}") from error
        except OSError as error:
            raise SceneError(f"{path}:1:1: {_why_unreadable(path, error)}") from error
        return cls._read(text, str(path), path.parent, path)

    @classmethod
    def parse(cls, text: str, base: str | Path = ".") -> Self:
        """Read a scene from text; files it names are relative to `base`.

        Raises:
            SceneError: something in it is wrong.
        """
        return cls._read(text, "<text>", Path(base), None)

    @classmethod
    def _read(cls, text: str, file: str, base: Path, path: Path | None) -> Self:
        document = Document(text, file)
        if not isinstance(document.data, dict):
            raise document.error((), "a scene is a mapping with 'mjrig: 1' and 'actors'")
        if "mjrig" not in document.data:
            raise document.error((), f"the format version is missing; begin with 'mjrig: {FORMAT}'")
        made = cls.blank()
        made._document, made._path, made._base = document, path, base
        with made.locating():
            made.assign(document.data)
        return made

    def save(self, path: str | Path | None = None) -> None:
        """Write the scene; an untouched one comes out byte for byte as it was read.

        Raises:
            SceneError: there is no path, or the file cannot be written; the old one is intact.
        """
        target = Path(path) if path is not None else self._path
        if target is None:
            raise SceneError("the scene has no file yet; give a path to save it to")
        text = self.to_text()
        try:
            write_atomically(target, text)
        except OSError as error:
            raise SceneError(f"{target}:1:1: cannot be written: {error.strerror}") from error
        self._document, self._path = Document(text, str(target)), target

    def to_text(self) -> str:
        """The scene as YAML, with the comments, order and style of the text it was read from."""
        data = self.to_data()
        if self._document is not None:
            return updated_text(self._document, data)
        return format_block({"mjrig": FORMAT, **data}, 0) + "\n"

    @property
    def path(self) -> Path | None:
        """The file it was read from or saved to last."""
        return self._path

    @property
    def base(self) -> Path:
        """The folder that file names are relative to."""
        return self._base

    def validate(self) -> None:
        if self.mjrig != FORMAT:
            raise PropertyError(
                f"format version {self.mjrig} is not known; this mjrig reads {FORMAT}", ("mjrig",)
            )
        self._check_names("frames", self.frames, {"world": "the world"})
        self._check_names("collision_groups", self.collision_groups, {})
        frames = {frame.name: f"frames[{i}]" for i, frame in enumerate(self.frames)}
        self._check_names("actors", self.actors, {"world": "the world", **frames})
        for i, actor in enumerate(self.actors):
            if actor.model is None and actor.prop is None:
                raise PropertyError(f"{actor.name}: needs a model or a prop", ("actors", i))

    def _check_names(
        self, kind: str, items: Sequence[Actor | Frame | CollisionGroup], taken: dict[str, str]
    ) -> None:
        seen = dict(taken)
        for i, item in enumerate(items):
            if not item.name:
                raise PropertyError(f"{kind}[{i}]: needs a name", (kind, i))
            if not NAME.fullmatch(item.name):
                raise PropertyError(
                    f"{kind}[{i}].name: must be letters, digits, _ and -, "
                    f"starting with a letter, got {item.name!r}",
                    (kind, i, "name"),
                )
            if item.name in seen:
                raise PropertyError(
                    f"{kind}[{i}].name: {item.name!r} is the name of {seen[item.name]} "
                    "already; names are unique",
                    (kind, i, "name"),
                )
            seen[item.name] = f"{kind}[{i}]"

    @contextmanager
    def locating(self, *keys: Any) -> Iterator[None]:
        """Turn errors about this scene into SceneErrors with their place in the file.

        Args:
            keys: path of what is being worked on, put in front of the error's own.
        """
        try:
            yield
        except MissingExtraError as error:
            if self._document is None:
                raise
            raise self._document.error(keys, str(error)) from error
        except LocatedError as error:
            if self._document is None:
                raise
            path: Keys = (*keys, *error.keys)
            at, about_key = error.at, error.about_key
            if not self._is_as_written(path):  # edited since: the text shows something else there
                at, about_key = (), True
            raise self._document.error(path, str(error), at=at, about_key=about_key) from error

    def _is_as_written(self, path: Keys) -> bool:
        """Whether the text still says what the scene does at a path."""
        assert self._document is not None
        now: Any = self.to_data()
        then: Any = self._document.data
        for key in path:
            try:
                now, then = now[key], then[key]
            except (KeyError, IndexError, TypeError):
                return True  # nothing to compare: the nearest place that exists is right
        return same(now, then)

    # Editing ------------------------------------------------------------------------------------

    def __getitem__(self, name: str) -> Actor:
        """An actor by name.

        Raises:
            PropertyError: there is none of that name.
        """
        for actor in self.actors:
            if actor.name == name:
                return actor
        names = [a.name for a in self.actors]
        raise PropertyError(f"the scene has no actor {name!r}; {suggestion(name, names)}")

    def part(self, name: str) -> HasProperties:
        if name == "sim":
            if self.sim is None:
                self.sim = SimOptions()
            assert self.sim is not None
            return self.sim
        if name.endswith("]"):  # frames[0], include[0]
            return super().part(name)
        if name == SCENE and all(actor.name != SCENE for actor in self.actors):
            return self  # its own properties have a path too: scene.seed
        return self[name]

    def folder(self) -> Path:
        return self._base

    def add_actor(
        self, name: str, *, model: str | Path | None = None, **properties: object
    ) -> Actor:
        """Add an actor and return it.

        Args:
            name: its name, unique in the scene.
            model: file of the model; none for an actor with a `prop`.
            properties: of Actor.

        Raises:
            PropertyError: the name is taken or a value does not fit; nothing was changed.
        """
        if model is not None:
            properties = {"model": str(model), **properties}
        actor = Actor(name=name, **properties)
        self.actors = (*self.actors, actor)
        return actor

    def set(self, path: str, value: object) -> None:
        """Set one property by path: `dog.PDController.kp`, `dog.pose.position`, `sim.timestep`.

        Items of lists by index, `dog.keyframes[0].name`; the scene's own as `scene.seed`.

        Raises:
            PropertyError: the path leads nowhere or the value does not fit; nothing was changed.
        """
        with self.changes():  # a part that was made on the way goes again after an error
            target, name = find(self, path)
            target.property_named(name).assign(target, value)

    def rename(self, path: str, new: str) -> list[str]:
        """Give an actor, frame, group, or something of an actor (`dog.FL_hip`) another name.

        Every reference in the scene follows; a model's own element is renamed in `renamed:`.

        Returns:
            The places that followed.

        Raises:
            PropertyError: there is no such thing, or the new name is taken; nothing was changed.
        """
        from mjrig.references import rename

        return rename(self, path, new)

    def remove(self, path: str, *, dry_run: bool = False, dependents: str = "refuse") -> list[str]:
        """Take an actor, frame, group, or something of an actor (`dog.FL_hip`) out of the scene.

        Args:
            path: what goes; a model's own element is left out by `removed:`.
            dry_run: change nothing, only report.
            dependents: `refuse` if something needs it, or `remove` that too.

        Returns:
            What goes, or would go: the thing itself first, then what depended on it.

        Raises:
            PropertyError: there is no such thing, or something needs it; nothing was changed.
        """
        from mjrig.references import remove

        return remove(self, path, dry_run=dry_run, dependents=dependents)


def find(root: HasProperties, path: str) -> tuple[HasProperties, str]:
    """The object and the last name a dotted path leads to.

    Raises:
        PropertyError: a part of the path does not exist.
    """
    *parts, last = path.split(".")
    if not parts:
        raise PropertyError(f"{path!r} is not a path; write actor.component.property")
    for part in parts:
        root = root.part(part)
    return root, last


def existing(root: Any, path: str) -> HasProperties | None:
    """The object at a path, None if there is none; unlike `find` it makes no part on the way."""
    for name in path.split("."):
        if name in getattr(root, "_nesting", ()) and vars(root)[name] is None:
            return None
        try:
            root = root.part(name)
        except MjrigError:
            return None
    return root if isinstance(root, HasProperties) else None


def path_of(obj: HasProperties) -> str:
    """The path of an object in its scene, as `set` reads it: `dog.PDController.clamps[0]`."""
    parts: list[str] = []
    while obj._parent is not None:
        parts.append((isinstance(obj, Actor) and obj.name) or obj._role)
        obj = obj._parent
    return ".".join(reversed(parts)) or SCENE


def _why_unreadable(path: Path, error: OSError) -> str:
    if isinstance(error, FileNotFoundError):
        folder = path.parent if path.parent.is_dir() else None
        names = sorted(p.name for p in folder.glob("*.y*ml")) if folder else []
        hint = f"; {suggestion(path.name, names)}" if names else ""
        return f"there is no such file{hint}"
    return f"cannot be read: {error.strerror}"
