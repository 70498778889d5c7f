"""What a scene has besides actors: includes, frames, collision groups, randomisation."""

from enum import StrEnum
from typing import TYPE_CHECKING

from mjrig.errors import LocatedError, PropertyError, SceneError
from mjrig.properties.has_properties import HasProperties
from mjrig.properties.mapping_kinds import Numbers, Table, anything
from mjrig.properties.scalar_kinds import Choice, FilePath, Patterns, Text
from mjrig.scene.actor import NAME
from mjrig.scene.apply_data import keys_of
from mjrig.scene.load_context import Reading
from mjrig.scene.pose import PLACE, Transform

if TYPE_CHECKING:
    from mjrig.scene.scene import Scene

SCENES = (".yaml", ".yml")


class Include(HasProperties):
    """Another scene file, whose actors, frames and groups are in this scene too."""

    file = FilePath(suffixes=SCENES, structural=True, doc="Scene file, relative to this one.")
    prefix = Text("", structural=True, doc="Put in front of every name of the included file.")
    vars = Table(anything, structural=True, doc="Values for variables of the included file.")
    set = Table(
        anything, structural=True, doc="Properties set on top, by path: dog.PDController.kp: 50."
    )

    _scene: "Scene | None"

    def _own_prepare(self) -> None:
        self._scene = None

    def _own_validate(self) -> None:
        self.forget()
        if self.prefix and not NAME.fullmatch(self.prefix):
            raise PropertyError(
                f"{self.label}.prefix: must be letters, digits, _ and -, "
                f"starting with a letter, got {self.prefix!r}",
                ("prefix",),
            )
        if getattr(self._parent, "is_from_text", False):
            self.scene()  # what is wrong with it is said now

    def forget(self) -> None:
        """Read the file again when it is needed next."""
        self._scene = None

    def scene(self) -> "Scene":
        """The included scene, read once, with what is set on top.

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
        """Set a property of the included scene on top of its file; returns the path it goes by."""
        path = self._as_listed(path)
        self.set = {**self.set, path: value}
        return path

    def _read(self) -> "Scene":
        from mjrig.scene.scene import Scene

        if self.file is None:
            raise PropertyError(f"{self.label}: needs a file")
        outer = self._parent
        reading = outer.reading if isinstance(outer, Scene) else Reading()
        try:
            path = self.find_file(self.file)
            reading.into(path)
        except PropertyError as error:
            raise PropertyError(f"{self.label}.file: {error}", ("file",)) from None
        return Scene.read_file(path, reading.with_vars(self.vars))

    def _set(self, part: "Scene", path: str, value: object) -> None:
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
        """An error about what was set on top, with its place in the including file, if any."""
        from mjrig.scene.scene import Scene

        moved = LocatedError(str(error), at=(path, *error.at), about_key=error.about_key)
        outer = self._parent
        return outer.located((*keys_of(self), "set"), moved) if isinstance(outer, Scene) else None

    def _as_listed(self, path: str) -> str:
        """The path by the name its component is listed by: `dog.pd.kp` is `dog.PDController.kp`."""
        actor, _, rest = path.partition(".")
        component, _, name = rest.partition(".")
        try:
            role = self.scene()[actor].component_role(component) if name else component
        except PropertyError:
            return path
        return ".".join(filter(None, (actor, role, name)))


class Frame(Transform):
    """A named place: in the world, or fixed to a body or site of an actor."""

    name = Text("", structural=True, doc="Name; the compiled model has a site of that name.")
    on = Text(
        "world",
        structural=True,
        refers=PLACE,
        doc="world, another frame, actor/body or actor/site.",
    )


class CollisionGroup(HasProperties):
    """Bodies that do not collide with the bodies of some groups."""

    name = Text("", structural=True, doc="Name of the group.")
    members = Patterns((), structural=True, refers=PLACE, doc="Actors, or actor/body, as patterns.")
    groups = Patterns(
        (), structural=True, refers=("group",), doc="Other groups whose members belong here too."
    )
    ignores = Patterns(
        (),
        structural=True,
        refers=("group",),
        doc="Groups its bodies pass through; its own name: among themselves.",
    )


class Operation(StrEnum):
    """What is done with a drawn value."""

    ADD = "add"
    SCALE = "scale"
    SET = "set"


class Distribution(StrEnum):
    """What a value is drawn from."""

    UNIFORM = "uniform"
    NORMAL = "normal"


class Randomise(HasProperties):
    """A property that differs from world to world, drawn when the world is built."""

    path = Text(
        "",
        structural=True,
        doc="actor.part.property; the actor is a name pattern: `dog_.*.PDController.kp`.",
    )
    operation = Choice(Operation.ADD, structural=True, doc="Add to, scale or set the value.")
    distribution = Choice(Distribution.UNIFORM, structural=True, doc="What is drawn from.")
    low = Numbers(0.0, structural=True, edit_if="distribution=uniform", doc="Lower end.")
    high = Numbers(0.0, structural=True, edit_if="distribution=uniform", doc="Upper end.")
    mean = Numbers(0.0, structural=True, edit_if="distribution=normal", doc="Mean.")
    deviation = Numbers(
        0.0, structural=True, edit_if="distribution=normal", doc="Standard deviation."
    )

    def _own_validate(self) -> None:
        if (self.low > self.high).any():
            raise PropertyError(f"{self.label}: low is above high", ("low",))
        if (self.deviation < 0.0).any():
            raise PropertyError(f"{self.label}.deviation: must be >= 0", ("deviation",))
