"""Scene: the declarative description, exactly what the YAML says."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar, Self

from mjrig.articulation import component_named
from mjrig.binding import unique
from mjrig.component import ActorComponent
from mjrig.errors import LocatedError, MissingExtraError, PropertyError, SceneError
from mjrig.files import write_atomically
from mjrig.names import suggestion
from mjrig.per_actuator import PatternMap
from mjrig.properties import HasProperties
from mjrig.property_kinds import FilePath, FloatArray, Int, Nested, NestedList, Text, Vector
from mjrig.sim_options import SimOptions
from mjrig.yaml_document import Document, Keys
from mjrig.yaml_edit import format_block, same, updated_text

FORMAT = 1
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_\-]*")


class Pose(HasProperties):
    """Where an actor stands in the world."""

    position = Vector([0.0, 0.0, 0.0], unit="m", category="Pose", doc="World position.")
    euler_deg = Vector(
        [0.0, 0.0, 0.0],
        unit="deg",
        category="Pose",
        doc="Rotation about the turned x, y and z axes, in that order (MJCF's xyz).",
    )
    quaternion = Vector(
        [1.0, 0.0, 0.0, 0.0], category="Pose", doc="Rotation as w, x, y, z; instead of euler_deg."
    )

    def validate(self) -> None:
        if self.is_authored("euler_deg") and self.is_authored("quaternion"):
            raise PropertyError(
                f"{self.label}: has both euler_deg and quaternion; give one", ("quaternion",)
            )
        if not self.quaternion.any():
            raise PropertyError(
                f"{self.label}.quaternion: must not be zero; no rotation is [1, 0, 0, 0]",
                ("quaternion",),
            )


class ComponentList(NestedList[ActorComponent]):
    """The components of an actor, addressed by type name: `dog.PDController.kp`."""

    def role(self, item: object, index: int, taken: Sequence[str]) -> str:
        name = item.get("type") if isinstance(item, Mapping) else type(item).__name__
        return unique(str(name), taken)


class Actor(HasProperties):
    """One robot or thing in a scene."""

    name = Text("", structural=True, doc="Name; letters, digits, _ and -.")
    model = FilePath(
        suffixes=(".xml", ".mjcf", ".urdf"),
        structural=True,
        doc="MJCF or URDF file, relative to the scene, or package:…",
    )
    pose = Nested(Pose, structural=True, doc="Where the model's origin is put.")
    keyframe = Text(
        "", structural=True, doc="Keyframe of the model to start from; empty: its default pose."
    )
    joints = PatternMap(
        structural=True, unit="rad or m", doc="Starting positions by joint name pattern."
    )
    components = ComponentList(ActorComponent, doc="What hangs on the actor, in order.")

    @property
    def label(self) -> str:
        return self.name or self._role or "actor"

    def validate(self) -> None:
        if self.name and not _NAME.fullmatch(self.name):
            raise PropertyError(
                f"{self._role or 'actor'}.name: must be letters, digits, _ and -, "
                f"starting with a letter, got {self.name!r}",
                ("name",),
            )

    def assign(self, values: Mapping[str, object]) -> None:
        first = {k: values[k] for k in ("name",) if k in values}  # later messages use it
        super().assign({**first, **values})

    def part(self, name: str) -> HasProperties:
        if name == "pose" and self.pose is None:
            self.pose = Pose()
        if name == "pose" and self.pose is not None:
            return self.pose
        return component_named(self, self.components, name)

    def add_component(self, component: ActorComponent) -> ActorComponent:
        """Hang a component on the actor."""
        self.components = (*self.components, component)
        return component

    def remove_component(self, component: ActorComponent) -> None:
        """Take a component off.

        Raises:
            PropertyError: it is not on this actor.
        """
        if component not in self.components:
            raise PropertyError(f"{component!r} is not a component of {self.label!r}")
        self.components = tuple(c for c in self.components if c is not component)
        component.disown()


class Scene(HasProperties):
    """Actors and simulation options, made in Python or read from a file."""

    mjrig = Int(FORMAT, doc="Format version.")
    sim = Nested(SimOptions, structural=True, doc="Simulation options.")
    actors = NestedList(Actor, polymorphic=False, structural=True, doc="What is in the scene.")

    SUFFIXES: ClassVar[tuple[str, ...]] = (".yaml", ".yml")

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
        seen: dict[str, int] = {}
        for i, actor in enumerate(self.actors):
            if not actor.name:
                raise PropertyError(f"actors[{i}]: needs a name", ("actors", i))
            if actor.name in seen:
                raise PropertyError(
                    f"actors[{i}].name: {actor.name!r} is the name of actors[{seen[actor.name]}] "
                    "already; names are unique",
                    ("actors", i, "name"),
                )
            if actor.model is None:
                raise PropertyError(f"{actor.name}: needs a model", ("actors", i))
            seen[actor.name] = i

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
        return self[name]

    def add_actor(self, name: str, *, model: str | Path, **properties: object) -> Actor:
        """Add an actor and return it.

        Raises:
            PropertyError: the name is taken or a value does not fit; nothing was changed.
        """
        actor = Actor(name=name, model=str(model), **properties)
        self.actors = (*self.actors, actor)
        return actor

    def set(self, path: str, value: object) -> None:
        """Set one property by path: `dog.PDController.kp`, `dog.pose.position`, `sim.timestep`.

        Raises:
            PropertyError: the path leads nowhere or the value does not fit; nothing was changed.
        """
        with self.changes():  # a part that was made on the way goes again after an error
            target, name = find(self, path)
            target.property_named(name).assign(target, value)


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


def rotation(pose: Pose | None) -> tuple[FloatArray, FloatArray]:
    """Position and unit quaternion (w, x, y, z) of a pose; None: the origin."""
    import mujoco
    import numpy as np

    quaternion = np.array([1.0, 0.0, 0.0, 0.0])
    if pose is None:
        return np.zeros(3), quaternion
    if pose.is_authored("euler_deg"):
        mujoco.mju_euler2Quat(quaternion, np.radians(pose.euler_deg), "xyz")
    else:
        quaternion = pose.quaternion / np.linalg.norm(pose.quaternion)
    return np.array(pose.position), quaternion


def _why_unreadable(path: Path, error: OSError) -> str:
    if isinstance(error, FileNotFoundError):
        folder = path.parent if path.parent.is_dir() else None
        names = sorted(p.name for p in folder.glob("*.y*ml")) if folder else []
        hint = f"; {suggestion(path.name, names)}" if names else ""
        return f"there is no such file{hint}"
    return f"cannot be read: {error.strerror}"
