"""SceneDescription: the content of a scene, exactly as in the YAML, with its included files."""

import re
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from mjrig.core.errors import LocatedError, MjrigError, PropertyError, SceneError
from mjrig.core.names import suggestion
from mjrig.core.properties.collection_kinds import Table, anything
from mjrig.core.properties.declaration import Property
from mjrig.core.properties.has_properties import HasProperties
from mjrig.core.properties.nested_kinds import Nested, NestedList
from mjrig.core.properties.scalar_kinds import FilePath, Int, Text
from mjrig.core.scene.actor_description import ActorDescription
from mjrig.core.scene.mujoco_options import SimOptions
from mjrig.core.scene.randomisation import Draw
from mjrig.core.scene.scene_file import MAX_FILES, SceneFile
from mjrig.core.scene.scene_sections import NAME, CollisionGroup, Frame, Randomise
from mjrig.core.scene.scene_text import FORMAT, item_tree, update
from mjrig.core.yaml_text.comparison import same
from mjrig.core.yaml_text.yaml_document import Keys, Resolved, count_values

# Includes -----------------------------------------------------------------------------------------


SCENES = (".yaml", ".yml")


class Include(HasProperties):
    """Another scene file, whose actors, frames and groups are part of this scene."""

    file = FilePath(suffixes=SCENES, structural=True, doc="Scene file, relative to this one.")
    prefix = Text("", structural=True, doc="Prefix of every name of the included file.")
    vars = Table(anything, structural=True, doc="Values for variables of the included file.")
    set = Table(
        anything, structural=True, doc="Properties to override, by path: dog.PDController.kp: 50."
    )

    _scene: "SceneDescription | None"

    def prepare(self) -> None:
        self._scene = None

    def validate(self) -> None:
        self.forget()
        if self.prefix and not NAME.fullmatch(self.prefix):
            raise PropertyError(
                f"{self.label}.prefix: must be letters, digits, _ and -, "
                f"starting with a letter, got {self.prefix!r}",
                ("prefix",),
            )
        outer = self._outer
        if outer is not None and outer.is_from_text:
            self.scene()  # raises what is wrong with it now

    def forget(self) -> None:
        """Read the file again when it is needed next."""
        self._scene = None

    def scene(self) -> "SceneDescription":
        """The included scene, read once, with the overrides set.

        Raises:
            SceneError: something in the file is wrong.
            PropertyError: it cannot be found, includes itself, or what is set does not fit.
        """
        if self._scene is None:
            part = self._read()
            for path, value in self.set.items():
                self._set(part, path, value)
            self._scene = part
        return self._scene

    def put(self, path: str, value: object) -> str:
        """Override a property of the included scene; returns its canonical path."""
        path = self._as_listed(path)
        self.set = {**self.set, path: value}
        return path

    def _read(self) -> "SceneDescription":
        if self.file is None:
            raise PropertyError(f"{self.label}: needs a file")
        outer = self._outer
        if outer is None:
            raise PropertyError(f"{self.label}: is not part of a scene")
        try:
            path = self.find_file(self.file)
            outer.reading.into(path)
        except PropertyError as error:
            raise PropertyError(f"{self.label}.file: {error}", ("file",)) from None
        return type(outer).read_file(path, outer.reading.with_vars(self.vars))

    @property
    def _outer(self) -> "SceneDescription | None":
        return self._parent if isinstance(self._parent, SceneDescription) else None

    def _set(self, part: "SceneDescription", path: str, value: object) -> None:
        try:
            keys = part.put(path, value)
        except PropertyError as error:
            leads_nowhere = not error.keys
            raise PropertyError(
                str(error),
                ("set",),
                at=(path, *error.at),
                about_key=error.about_key or leads_nowhere,
            ) from None
        part.remember_set(keys, lambda error: self._located(path, error))

    def _located(self, path: str, error: LocatedError) -> SceneError | None:
        """An error about an override, with its place in the including file, if any."""
        moved = LocatedError(str(error), at=(path, *error.at), about_key=error.about_key)
        outer = self._outer
        return outer.located((*self.keys_below(), "set"), moved) if outer is not None else None

    def _as_listed(self, path: str) -> str:
        """The path by the name its component is listed by: `dog.pd.kp` is `dog.PDController.kp`."""
        actor, _, rest = path.partition(".")
        component, _, name = rest.partition(".")
        try:
            role = self.scene()[actor].component_role(component) if name else component
        except PropertyError:
            return path
        return ".".join(filter(None, (actor, role, name)))


# Items of included files, under their names in the including scene --------------------------------


@dataclass(frozen=True)
class Placed:
    """One actor, frame or group of the world, and where in which file it is described.

    `item` is the described object itself, or a copy where the world's differs from it.
    """

    item: Any
    original: Any
    scene: "SceneDescription"
    keys: tuple[Any, ...]
    #: Random draws that wait until the actuators are known.
    draws: tuple[Draw, ...] = ()

    @property
    def name(self) -> str:
        """Its name in the world."""
        return str(self.item.name)

    def locating(self, *keys: Any) -> AbstractContextManager[None]:
        """Turn errors about it into SceneErrors with their place in the file."""
        return self.scene.locating(*self.keys, *keys)


def placed_items(scene: "SceneDescription", kind: str) -> Iterator[Placed]:
    """The items of one kind: those of the included files, then the scene's own."""
    for i, include in enumerate(scene.own_items("include")):
        with scene.locating("include", i):
            part = include.scene()
        for placed in placed_items(part, kind):
            yield _prefixed(placed, include.prefix, _names(part)) if include.prefix else placed
    for i, item in enumerate(scene.own_items(kind)):
        yield Placed(item, item, scene, (kind, i))


def described(scene: "SceneDescription", kind: str) -> list[Placed]:
    """The items of one kind, included ones under their names here; no copies or draws are made."""
    return list(placed_items(scene, kind))


def included_actor(scene: "SceneDescription", name: str) -> ActorDescription:
    """A copy of an actor of an included file, as it is in the scene.

    Raises:
        PropertyError: there is none of that name.
    """
    for placed in placed_items(scene, "actors"):
        if placed.name == name and placed.scene is not scene:
            copied: ActorDescription = own_copy(placed.item)
            return copied
    raise PropertyError(f"no included file has an actor {name!r}")


def _names(scene: "SceneDescription") -> set[str]:
    """What a reference inside a file may refer to."""
    kinds = ("actors", "frames", "collision_groups")
    return {placed.name for kind in kinds for placed in placed_items(scene, kind)}


def _prefixed(placed: Placed, prefix: str, known: set[str]) -> Placed:
    """An included item under its name in the including scene; its references follow."""

    def follow(name: str) -> str:
        return prefix + name if name.partition("/")[0] in known else name

    item = own_copy(placed.item)
    if isinstance(item, Randomise):
        item.path = prefix + item.path
        return Placed(item, placed.original, placed.scene, placed.keys)
    item.name = prefix + item.name
    if isinstance(item, ActorDescription):
        if item.attach is not None and item.attach.to != "world":
            item.attach.to = follow(item.attach.to)
        if item.pose is not None and item.pose.relative_to:
            item.pose.relative_to = follow(item.pose.relative_to)
        for actuator in item.actuators:
            if "/" in actuator.refsite:
                actuator.refsite = follow(actuator.refsite)
    elif isinstance(item, Frame):
        item.on = follow(item.on)
    elif isinstance(item, CollisionGroup):
        for field in ("members", "groups", "ignores"):
            patterns = getattr(item, field)
            if patterns:
                setattr(item, field, [f"{re.escape(prefix)}(?:{p})" for p in patterns])
    return Placed(item, placed.original, placed.scene, placed.keys)


def own_copy(item: Any) -> Any:
    """A copy that may be changed; its files are found relative to the original."""
    copied = item.copy()
    if isinstance(copied, ActorDescription):
        copied.stand_alone(item)
    return copied


# Scene --------------------------------------------------------------------------------------------


class SceneDescription(SceneFile):
    """Actors and simulation options, as in a scene file."""

    mjrig = Int(FORMAT, doc="Format version.")
    include = NestedList(
        Include,
        polymorphic=False,
        short="file",
        structural=True,
        doc="Scene files whose content is part of this scene.",
    )
    vars = Table(anything, structural=True, doc="Variables, used as ${name}; values of any type.")
    sim = Nested(SimOptions, structural=True, doc="Simulation options.")
    seed = Int(0, min=0, structural=True, doc="Random seed of the randomisation.")
    randomise = NestedList(
        Randomise, polymorphic=False, structural=True, doc="Randomised properties."
    )
    frames = NestedList(Frame, polymorphic=False, structural=True, doc="Named frames.")
    collision_groups = NestedList(
        CollisionGroup,
        polymorphic=False,
        structural=True,
        doc="Collision groups: which bodies do not collide.",
    )
    actors: NestedList[ActorDescription] = NestedList(
        ActorDescription, polymorphic=False, structural=True, doc="Actors of the scene."
    )

    @property
    def label(self) -> str:
        return "scene"

    # Variables ----------------------------------------------------------------------------------

    def variables(self) -> dict[str, Any]:
        """The value of every variable, resolved."""
        return Resolved({"vars": self.to_data().get("vars", {})}, self.overrides).variables

    def _set_variable(self, name: str, value: object) -> None:
        if name not in self.vars:
            hint = suggestion(name, self.vars)
            raise PropertyError(f"the scene has no variable {name!r}; {hint}")
        self.vars = {**self.vars, name: value}

    def _replace(self, prop: Property[Any], authored: object, value: object) -> None:
        before = self.vars
        super()._replace(prop, authored, value)
        if prop.name == "vars":
            self._check_size(count_values(self.vars) - count_values(before))
            self._put_variables_in()

    def _put_variables_in(self) -> None:
        """Resolve everything again that uses changed variables."""
        data = self.to_data()
        if self._text is None:
            self.variables()  # refuses what does not exist
            return
        if same(self._text.data.get("vars", {}), data.get("vars", {})):
            return
        self._text = self._text.with_variables(data, item_tree(self))
        update(self, self._text.data)
        self._text = self._text.reinterpreted_as(self.to_data(), item_tree(self))

    # Included files -----------------------------------------------------------------------------

    def included_scenes(self) -> list[Self]:
        """The scenes of the files it includes, in order."""
        found = [include.scene() for include in self.include]
        return [scene for scene in found if isinstance(scene, type(self))]  # they all are

    def forget_included(self) -> None:
        for include in self.include:
            include.forget()

    @property
    def file_count(self) -> int:
        """Number of files it consists of, itself included."""
        return 1 + sum(include.scene().file_count for include in self.include)

    def own_items(self, kind: str) -> Sequence[Any]:
        """What is listed in its own file under `include`, `actors`, `frames`, …"""
        found: Sequence[Any] = self.__dict__[kind]
        return found

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

    def check_read(self) -> None:
        if self.include and self.file_count > MAX_FILES:
            raise PropertyError(f"the scene includes more than {MAX_FILES} files", ("include",))
        self.effective_sim()

    def _source(self, name: str) -> tuple[Include, str] | None:
        """The include an actor comes from, and its name there; None: the scene lists it itself."""
        if any(actor.name == name for actor in self.actors):
            return None
        for include in self.include:
            inner = name.removeprefix(include.prefix)
            if name.startswith(include.prefix) and inner in include.scene().actor_names():
                return include, inner
        return None

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
        self,
        kind: str,
        items: Sequence[ActorDescription | Frame | CollisionGroup],
        taken: dict[str, str],
    ) -> None:
        names = [item.name for item in items]
        if len({*taken, *names}) == len(taken) + len(names) and all(map(NAME.fullmatch, names)):
            return  # the usual case, at every change of anything in the scene
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

    # Editing ------------------------------------------------------------------------------------

    def __getitem__(self, name: str) -> ActorDescription:
        """An actor by name; one of an included file as a copy that refuses to be changed.

        Raises:
            PropertyError: there is none of that name.
        """
        for actor in self.actors:
            if actor.name == name:
                return actor
        source = self._source(name)
        if source is not None:
            return included_actor(self, name).sealed(
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
    ) -> ActorDescription:
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
        actor = type(self).actors.base(name=name, **properties)
        type(self).actors.append(self, actor)
        return actor

    def set(self, path: str, value: object) -> None:
        """Set one property by path: `dog.PDController.kp`, `dog.pose.position`, `sim.timestep`.

        Items of lists by index, `dog.keyframes[0].name`; the scene's own as `scene.seed`.
        `vars.kp` sets a variable and everything that uses it. A property of an included actor is
        set in the `set` of its include, where the file shows it; the included file stays.

        Raises:
            PropertyError: the path does not exist or the value does not fit; nothing was changed.
        """
        head = path.partition(".")[0]
        # An actor may have one of these two names, but a path that starts with it is the scene's.
        actors = () if head in ("vars", "sim") else self.actors
        changed = next((actor for actor in actors if actor.name == head), self)
        with changed.changes():  # removes parts created on the way after an error
            self.put(path, value)

    def put(self, path: str, value: object) -> Keys:
        """Set one property by path; returns its path in the scene's own data."""
        head, _, rest = path.partition(".")
        if head == "vars" and rest:
            self._set_variable(rest, value)
            return ("vars", rest)
        source = self._source(head) if rest else None
        if source is not None:
            include, inner = source
            return (*include.keys_below(), "set", include.put(f"{inner}.{rest}", value))
        target, name = find(self, path)
        target.property_named(name).assign(target, value)
        return (*target.keys_below(), name)


# Scene path ---------------------------------------------------------------------------------------


#: First name of paths to the scene itself: `scene.seed`.
SCENE = "scene"


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
        parts.append(obj.path_name)
        obj = obj._parent
    return ".".join(reversed(parts)) or SCENE
