"""Scene: the declarative description, exactly what the YAML says."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any, Self

from mjrig.errors import (
    LocatedError,
    MissingExtraError,
    MjrigError,
    PropertyError,
    SceneError,
    UntrustedError,
    untrusted_folder,
)
from mjrig.files.paths import write_atomically
from mjrig.files.sandbox import Sandbox
from mjrig.names import suggestion
from mjrig.properties.has_properties import HasProperties
from mjrig.properties.mapping_kinds import Table, anything
from mjrig.properties.nested_kinds import Nested, NestedList
from mjrig.properties.scalar_kinds import Int
from mjrig.scene.actor import NAME, Actor
from mjrig.scene.apply_data import keys_of, update
from mjrig.scene.load_context import (
    MAX_FILES,
    Reading,
    Trust,
    decoded,
    read_scene_file,
    sandbox_of,
    trusted_by,
)
from mjrig.scene.scene_parts import CollisionGroup, Frame, Include, Randomise
from mjrig.scene.scene_text import FORMAT, SceneText, new_text
from mjrig.scene.sim_options import SimOptions
from mjrig.yaml_text.variables import Resolved
from mjrig.yaml_text.yaml_document import Keys
from mjrig.yaml_text.yaml_edit import same

#: What a path calls the scene itself: `scene.seed`.
SCENE = "scene"
#: Gives an error about a value its place in the file that set it.
Elsewhere = Callable[[LocatedError], SceneError | None]


class Variables(Table):
    """Variables of a scene; a change is a change of everything that uses them."""

    def assign(self, obj: HasProperties, value: object) -> None:
        assert isinstance(obj, Scene)
        with obj.changes():
            super().assign(obj, value)
            obj._put_variables_in()


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
    vars = Variables(
        anything, structural=True, doc="Variables, used as ${name}; any other value too."
    )
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

    _text: SceneText | None
    _reading: Reading
    _path: Path | None
    _digest: bytes
    _base: Path
    #: What an including file set: the path here → who says where that is.
    _set_by: dict[Keys, Elsewhere]

    def _own_prepare(self) -> None:
        self._text, self._reading, self._set_by = None, Reading(), {}
        self._path, self._digest, self._base = None, b"", Path()

    @property
    def label(self) -> str:
        return "scene"

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
        """Read a scene file, and the files it includes.

        Args:
            path: the file.
            vars: values that win over those of the file's own `vars`; saving leaves them out.
            sandbox: refuse every file outside of the scene's folder, or of this folder.
            trust: run the code of types such as `my_module:MyController`, in modules of the scene's
                folder, or of these folders.

        Raises:
            UntrustedError: it has such types, and their folder is not trusted.
            SceneError: it cannot be read, or something in it is wrong; the message says where.
        """
        path = Path(path)
        trusted = trusted_by(path, trust, sandbox)
        reading = Reading(dict(vars or {}), sandbox_of(path, sandbox), trusted)
        try:
            return cls.read_file(path, reading)
        except PropertyError as error:
            raise SceneError(f"{path}:1:1: {error}") from error

    @classmethod
    def read_file(cls, path: Path, reading: Reading) -> Self:
        """Read a scene file as somebody outside of it wants it read.

        Raises:
            SceneError: it cannot be read, or something in it is wrong.
            PropertyError: what is decided outside is wrong: a variable, or who includes it.
        """
        if reading.sandbox is not None:
            reading.sandbox.admit(path, path)
        content = read_scene_file(path)
        text = decoded(content, path)
        made = cls._read(text, str(path), path.parent, reading.into(path))
        made._path, made._digest = path, _digest(content)
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
            return cls._read(text, "<text>", Path(base), reading)
        except PropertyError as error:
            raise SceneError(f"<text>:1:1: {error}") from error

    @classmethod
    def _read(cls, text: str, file: str, base: Path, reading: Reading) -> Self:
        made = cls.blank()
        made._text = SceneText.read(text, file, reading.vars)
        made._base, made._reading = base, reading
        with made.locating():
            made.assign(made._text.data)
            made._check_includes()
        return made

    def save(self, path: str | Path | None = None, *, overwrite: bool = False) -> None:
        """Write the scene; an untouched one comes out byte for byte as it was read.

        What the file said before is kept beside it, in `scene.yaml~`.

        Args:
            path: where to; None: the file it was read from or saved to last.
            overwrite: also if somebody else changed that file in the meantime.

        Raises:
            SceneError: there is no path, the file was changed since it was read, or it cannot be
                written; the old one is intact.
        """
        target = Path(path) if path is not None else self._path
        if target is None:
            raise SceneError("the scene has no file yet; give a path to save it to")
        text = self.to_text()
        content = text.encode("utf-8")
        there = read_scene_file(target) if target.is_file() else None
        if not overwrite and there is not None and self._is_own(target):
            if _digest(there) != self._digest:
                raise SceneError(
                    f"{target}:1:1: was changed on disk since it was read; reload() takes that, "
                    "save(overwrite=True) replaces it"
                )
        if there != content:
            try:
                write_atomically(target, text, backup=True)
            except OSError as error:
                raise SceneError(f"{target}:1:1: cannot be written: {error.strerror}") from error
        overrides = self._text.resolved.overrides if self._text is not None else {}
        self._text = SceneText.read(text, str(target), overrides)
        self._path, self._digest = target, _digest(content)

    def to_text(self) -> str:
        """The scene as YAML, with the comments, order and style of the text it was read from."""
        data = self.to_data()
        return self._text.updated(data) if self._text is not None else new_text(data)

    def changed_on_disk(self) -> bool:
        """Whether its file says something else than when it was read or saved last."""
        if self._path is None:
            return False
        try:
            return _digest(read_scene_file(self._path)) != self._digest
        except SceneError:
            return True

    def reload(self) -> None:
        """Take what the file and those it includes say now; what was not saved is lost.

        Actors and components that are still there are the same objects.

        Raises:
            SceneError: the scene has no file, or something in it is wrong; nothing was changed.
        """
        if self._path is None:
            raise SceneError("the scene has no file to read again")
        overrides = self._text.resolved.overrides if self._text is not None else {}
        reading = replace(self._reading, vars=overrides, chain=self._reading.chain[:-1])
        try:
            fresh = type(self).read_file(self._path, reading)
        except PropertyError as error:
            raise SceneError(f"{self._path}:1:1: {error}") from error
        with self.changes():
            self._text, self._digest, self._base = fresh._text, fresh._digest, fresh._base
            update(self, fresh.to_data())
            for include in self.include:
                include.forget()

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

    def variables(self) -> dict[str, Any]:
        """The value of every variable, those they use put in."""
        overrides = self._text.resolved.overrides if self._text is not None else {}
        return Resolved({"vars": self.to_data().get("vars", {})}, overrides).variables

    def _set_variable(self, name: str, value: object) -> None:
        if name not in self.vars:
            hint = suggestion(name, self.vars)
            raise PropertyError(f"the scene has no variable {name!r}; {hint}")
        self.vars = {**self.vars, name: value}

    def _put_variables_in(self) -> None:
        """Work everything out again that uses variables which changed."""
        data = self.to_data()
        if self._text is None or same(self._text.data.get("vars", {}), data.get("vars", {})):
            return
        self._text = self._text.with_variables(data)
        update(self, self._text.data)

    # Included files -----------------------------------------------------------------------------

    @property
    def file_count(self) -> int:
        """How many files it consists of, itself included."""
        return 1 + sum(include.scene().file_count for include in self.include)

    def actor_names(self) -> list[str]:
        """The names of all actors, those of included files first; copies are not counted."""
        included = [i.prefix + n for i in self.include for n in i.scene().actor_names()]
        return [*included, *(actor.name for actor in self.actors)]

    def effective_sim(self) -> SimOptions:
        """Simulation options: its own, and those of included files that it does not set.

        Raises:
            PropertyError: two included files disagree about one.
        """
        own = self.sim.to_data() if self.sim is not None else {}
        found: dict[str, tuple[object, Include]] = {}
        for i, include in enumerate(self.include):
            for name, value in include.scene().effective_sim().to_data().items():
                before, other = found.setdefault(name, (value, include))
                if name not in own and not same(before, value):
                    raise PropertyError(
                        f"sim.{name}: the included files differ: {before} in {str(other.file)!r}, "
                        f"{value} in {str(include.file)!r}; set it under sim:",
                        ("include", i),
                    )
        return SimOptions.from_data({name: value for name, (value, _) in found.items()} | own)

    def _check_includes(self) -> None:
        if self.include and self.file_count > MAX_FILES:
            raise PropertyError(f"the scene includes more than {MAX_FILES} files", ("include",))
        self.effective_sim()

    def remember_set(self, keys: Keys, elsewhere: Elsewhere) -> None:
        """Note that an including file says what stands at `keys`: errors about it belong there."""
        self._set_by = {**self._set_by, keys: elsewhere}

    def _source(self, name: str) -> tuple[Include, str] | None:
        """The include an actor comes from, and its name there; None: it is the scene's own."""
        if any(actor.name == name for actor in self.actors):
            return None
        for include in self.include:
            inner = name.removeprefix(include.prefix)
            if name.startswith(include.prefix) and inner in include.scene().actor_names():
                return include, inner
        return None

    def _own_validate(self) -> None:
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
        """An error about what stands at a path, with its place in the file; None: there is none."""
        if self._text is None:
            return None
        whole = (*path, *error.at)
        for known, elsewhere in self._set_by.items():
            if whole[: len(known)] == known:
                rest = LocatedError(str(error), at=whole[len(known) :], about_key=error.about_key)
                found = elsewhere(rest)
                if found is not None:
                    return found
        at, about_key = error.at, error.about_key
        if not self._text.says(self.to_data(), path):  # edited since: the text shows another thing
            at, about_key = (), True
        return self._text.error(path, str(error), at=at, about_key=about_key)

    # Editing ------------------------------------------------------------------------------------

    def __getitem__(self, name: str) -> Actor:
        """An actor by name; one of an included file as a copy that refuses to be changed.

        Raises:
            PropertyError: there is none of that name.
        """
        for actor in self.actors:
            if actor.name == name:
                return actor
        source = self._source(name)
        if source is not None:
            from mjrig.scene.placement import included_actor

            scene: Any = self  # the two modules import each other, which type checkers dislike
            return included_actor(scene, name).sealed(
                f"{name!r} comes from {str(source[0].file)!r}; "
                f"change it by scene.set({name + '.…'!r}, value)"
            )
        hint = suggestion(name, self.actor_names())
        raise PropertyError(f"the scene has no actor {name!r}; {hint}")

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
        `vars.kp` sets a variable and everything that uses it. A property of an included actor is
        set in the `set` of its include, where the file shows it; the included file stays.

        Raises:
            PropertyError: the path leads nowhere or the value does not fit; nothing was changed.
        """
        with self.changes():  # a part that was made on the way goes again after an error
            self.put(path, value)

    def put(self, path: str, value: object) -> Keys:
        """Set one property by path, and say where in the scene's own data that is."""
        head, _, rest = path.partition(".")
        if head == "vars" and rest:
            self._set_variable(rest, value)
            return ("vars", rest)
        source = self._source(head) if rest else None
        if source is not None:
            include, inner = source
            return (*keys_of(include), "set", include.put(f"{inner}.{rest}", value))
        target, name = find(self, path)
        target.property_named(name).assign(target, value)
        return (*keys_of(target), name)

    def rename(self, path: str, new: str) -> list[str]:
        """Give an actor, frame, group, or something of an actor (`dog.FL_hip`) another name.

        Every reference in the scene follows; a model's own element is renamed in `renamed:`.

        Returns:
            The places that followed.

        Raises:
            PropertyError: there is no such thing, or the new name is taken; nothing was changed.
        """
        from mjrig.scene_edit.scene_renaming import rename

        scene: Any = self
        return rename(scene, path, new)

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
        from mjrig.scene_edit.scene_removal import remove

        scene: Any = self
        return remove(scene, path, dry_run=dry_run, dependents=dependents)


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


def _digest(content: bytes) -> bytes:
    return sha256(content).digest()
