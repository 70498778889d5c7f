"""Properties: declared once on a class, checked in the setter, reported in groups.

A declaration is a data descriptor without `__get__` at run time: the value lives in the instance's
`__dict__` under its own name, so reading it costs what reading any attribute costs. What a person
wrote (the *authored* form) is kept beside the value, for saving and for showing.

Values are immutable and swapped whole, never written in place. A shallow copy of `__dict__` is
therefore a full snapshot, which is what grouping, rollback and undo rest on.
"""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeVar, overload

import numpy as np

from mjrig.errors import PropertyError
from mjrig.files.paths import Gate, find_file
from mjrig.names import Slots, listed, nearest, suggestion
from mjrig.properties.actions import Action, collect_actions

T = TypeVar("T")
Watcher = Callable[["HasProperties", tuple[str, ...]], None]


class Property(Generic[T]):
    """One declared, typed, described value of a component.

    Args:
        default: the value when nothing was authored.
        doc: tooltip; one sentence.
        unit: SI unit shown behind the value.
        category: heading in the inspector and the reference page.
        label: what the inspector shows; None: the name with blanks.
        edit_if: `"other"` or `"other=value"`: the row is disabled, with the reason, otherwise.
        read_only: the component sets it, nobody else.
        stored: goes to the scene file.
        shown: appears in the inspector.
        structural: a change needs a new bind, not only a new value.
        refers: kinds of things whose names stand in the value, so that renaming one reaches it:
            `joint`, `actuator`, `body`, `site`, `tendon` of the same actor, or `place`.
    """

    kind: ClassVar[str] = "value"
    refers: tuple[str, ...] = ()
    nests: ClassVar[bool] = False
    fallback: str | None = None
    name: str
    owner: type

    def __init__(
        self,
        default: T,
        *,
        doc: str = "",
        unit: str = "",
        category: str = "General",
        label: str | None = None,
        edit_if: str | None = None,
        read_only: bool = False,
        stored: bool = True,
        shown: bool = True,
        structural: bool = False,
        refers: tuple[str, ...] = (),
    ) -> None:
        if refers:
            self.refers = refers
        self.default = default
        self.doc = doc
        self.unit = unit
        self.category = category
        self.label = label
        self.edit_if = edit_if
        self.read_only = read_only
        self.stored = stored and not read_only
        self.shown = shown
        self.structural = structural

    def __set_name__(self, owner: type, name: str) -> None:
        self.owner, self.name = owner, name

    if TYPE_CHECKING:  # at run time a read never enters this class

        @overload
        def __get__(self, obj: None, owner: type) -> Self: ...
        @overload
        def __get__(self, obj: object, owner: type) -> T: ...
        def __get__(self, obj: object | None, owner: type) -> Self | T: ...

    def __set__(self, obj: "HasProperties", value: T) -> None:
        self.assign(obj, value)

    def assign(self, obj: "HasProperties", value: object) -> None:
        """Check a value and take it.

        Raises:
            PropertyError: it does not fit; nothing was changed.
        """
        if self.read_only:
            raise self.error(obj, "is read-only")
        with obj.changes():  # also what accepting a nested component does to it is undone
            authored, canonical = self.accept(obj, value)
            obj._replace(self, authored, canonical)

    def accept(self, obj: "HasProperties", value: object) -> tuple[object, T]:
        """The authored form (own copy, plain data) and the canonical value of an input.

        Raises:
            PropertyError: the value does not fit.
        """
        raise NotImplementedError

    def refresh(self, obj: "HasProperties") -> None:
        """Hook: derive the value again from what was authored and what it falls back to."""

    def make_part(self, obj: "HasProperties") -> None:
        """Hook of a nested property: make the component that can only be of one kind."""

    def to_data(self, authored: Any) -> object:
        """The authored form as plain data for a file."""
        return deepcopy(authored)

    def json_schema(self) -> dict[str, object]:
        """JSON Schema of what may be written in a file."""
        raise NotImplementedError

    def range_text(self) -> str:
        """The allowed range in words; empty where there is none."""
        return ""

    def default_text(self) -> str:
        """The default in words, for the reference page."""
        return str(self.default)

    def error(
        self,
        obj: "HasProperties",
        problem: str,
        at: tuple[Hashable, ...] = (),
        *,
        about_key: bool = False,
    ) -> PropertyError:
        """A PropertyError that names object and property; `at` leads on into the value."""
        text = f"{obj.label}.{self.name}: {problem}"
        return PropertyError(text, (self.name,), at=at, about_key=about_key)

    def changed(self, before: T, after: T) -> bool:
        """Whether two values differ."""
        return before is not after and before != after

    def is_modified(self, obj: "HasProperties") -> bool:
        """Whether what was written differs from the default."""
        return self.changed(self.default, obj.__dict__[self.name])


class HasProperties:
    """Base of everything that declares properties."""

    _properties: ClassVar[dict[str, Property[Any]]] = {}
    _actions: ClassVar[dict[str, Action]] = {}
    _nesting: ClassVar[tuple[str, ...]] = ()
    _assignable: ClassVar[frozenset[str]] = frozenset()

    _authored: dict[str, object]
    _pending: list[str] | None
    _before: list[tuple["HasProperties", dict[str, object]]]
    _watchers: tuple[Watcher, ...]
    _parent: "HasProperties | None"
    _role: str
    _inside: str
    _slots: Slots | None
    _written_short: bool

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        found: dict[str, Property[Any]] = {}
        assignable: set[str] = set()
        for base in reversed(cls.__mro__):
            found |= {n: p for n, p in vars(base).items() if isinstance(p, Property)}
            assignable |= set(vars(base)) | set(vars(base).get("__annotations__", {}))
        cls._properties = {n: p for n, p in found.items() if getattr(cls, n) is p}
        cls._nesting = tuple(n for n, p in cls._properties.items() if p.nests)
        cls._actions = collect_actions(cls)
        cls._assignable = frozenset(assignable)
        for name, prop in cls._properties.items():
            if prop.edit_if is not None:
                _check_condition(cls, name, prop.edit_if)

    def __init__(self, **values: object) -> None:
        state = self.__dict__
        state.update({name: p.default for name, p in self._properties.items()})
        state.update(_authored={}, _pending=None, _before=[], _watchers=(), _slots=None)
        state.update(_parent=None, _role="", _inside="", _written_short=False)
        self.prepare()
        if values:
            self.assign(values)

    def __setattr__(self, name: str, value: object) -> None:
        if not name.startswith("_") and name not in self._assignable:
            raise PropertyError(self._no_property(name))
        object.__setattr__(self, name, value)

    # Introspection ------------------------------------------------------------------------------

    @classmethod
    def properties(cls) -> tuple[Property[Any], ...]:
        """The declarations, base classes first, in order."""
        return tuple(cls._properties.values())

    @classmethod
    def actions(cls) -> tuple[Action, ...]:
        """The methods marked as actions."""
        return tuple(cls._actions.values())

    @classmethod
    def property_named(cls, name: str) -> Property[Any]:
        """One declaration.

        Raises:
            PropertyError: there is none of that name; the message names the nearest.
        """
        if name not in cls._properties:
            raise PropertyError(cls._no_property(name), (name,), about_key=True)
        return cls._properties[name]

    @classmethod
    def _no_property(cls, name: str) -> str:
        close = nearest(name, cls._properties)
        hint = f"did you mean {close!r}?" if close else f"has: {listed(cls._properties)}"
        return f"{cls.__name__} has no property {name!r}; {hint}"

    @property
    def label(self) -> str:
        """Where this object is, for messages: `dog.PDController.clamps[0]`."""
        if self._parent is None:
            return type(self).__name__
        return f"{self._parent.label}.{self._role}"

    @property
    def parent(self) -> "HasProperties | None":
        """What this object is part of; None where it is part of nothing."""
        return self._parent

    @property
    def role(self) -> str:
        """What it is called within its parent: `PDController_2`, `clamps[0]`; else empty."""
        return self._role

    @property
    def slots(self) -> Slots | None:
        """The actuators its per-actuator properties are spread over; None before binding."""
        return self._slots

    @property
    def authored_values(self) -> Mapping[str, object]:
        """What was written, by property, in the order of the file; parts are the objects.

        A change makes a new mapping: as long as it is the same object, nothing was written here.
        """
        return self._authored

    def authored(self, name: str) -> object | None:
        """What was written for a property, as plain data; None if nothing was."""
        prop = self.property_named(name)
        return prop.to_data(self._authored[name]) if name in self._authored else None

    def is_authored(self, name: str) -> bool:
        """Whether anything was written for a property."""
        return self.property_named(name).name in self._authored

    def is_modified(self, name: str) -> bool:
        """Whether a property was written and differs from its default."""
        prop = self.property_named(name)
        return name in self._authored and prop.is_modified(self)

    def why_not_editable(self, name: str) -> str | None:
        """The reason a property cannot be edited now, or None if it can."""
        prop = self.property_named(name)
        if prop.read_only:
            return "is read-only"
        if prop.edit_if is None:
            return None
        other, _, wanted = prop.edit_if.partition("=")
        value = self.__dict__[other]
        if not wanted:
            return None if value else f"needs {other}"
        return None if str(value) == wanted else f"needs {other} = {wanted} (is {value})"

    # Change -------------------------------------------------------------------------------------

    def assign(self, values: Mapping[str, object]) -> None:
        """Set several properties, all or nothing, with one notification.

        Raises:
            PropertyError: a name is unknown or a value does not fit; nothing was changed.
        """
        with self.changes():
            for name, value in values.items():
                self.property_named(name).assign(self, value)

    def unset(self, name: str) -> None:
        """Return a property to its default, as if nothing had been authored."""
        prop = self.property_named(name)
        if name in self._authored:
            rest = {n: a for n, a in self._authored.items() if n != name}
            with self.changes() as pending:
                self.__dict__["_authored"] = rest
                self._swap(prop, prop.default)
                pending.append(name)

    def reorder(self, names: Sequence[str]) -> None:
        """List the authored properties in this order in the file; values stay.

        Raises:
            PropertyError: these are not the authored ones.
        """
        if len(names) != len(self._authored) or set(names) != self._authored.keys():
            raise PropertyError(f"{self.label}: {listed(names)} are not the authored properties")
        self.__dict__["_authored"] = {name: self._authored[name] for name in names}

    @contextmanager
    def changes(self) -> Iterator[list[str]]:
        """Group assignments: one notification at the end, everything undone after an error."""
        if self._pending is not None:  # nested: the outermost block reports
            yield self._pending
            return
        before = [(o, dict(o.__dict__)) for o in self._family()]
        pending: list[str] = []
        names: tuple[str, ...] = ()
        self.__dict__.update(_pending=pending, _before=before)
        committing = False
        try:
            yield pending
            names = tuple(dict.fromkeys(pending))
            if names:
                self._resolve(names)
                self.validate()
                committing = True
                self._commit(names)
        except BaseException:
            put_back(before)
            if committing:  # what was derived from the refused values is derived again
                self._commit(names)
            raise
        self.__dict__.update(_pending=None, _before=[])
        if names:
            self._notify(names)

    def validate(self) -> None:
        """Hook: check what properties say together; raise PropertyError to undo the group."""

    def on_change(self, names: tuple[str, ...]) -> None:
        """Hook: derive what depends on the properties that changed; raise to undo the group."""

    def watch(self, watcher: Watcher) -> Callable[[], None]:
        """Call `watcher(self, names)` once per group of changes; returns the way to stop it."""
        self.__dict__["_watchers"] = (*self._watchers, watcher)

        def stop() -> None:
            self.__dict__["_watchers"] = tuple(w for w in self._watchers if w is not watcher)

        return stop

    def _replace(self, prop: Property[Any], authored: object, value: object) -> None:
        with self.changes() as pending:
            self.__dict__["_authored"] = {**self._authored, prop.name: authored}
            self._swap(prop, value)
            pending.append(prop.name)

    def _swap(self, prop: Property[Any], value: object) -> None:
        """Put a new value in place; nested components that are no longer in it become free."""
        if not prop.nests:
            self.__dict__[prop.name] = value
            return
        before = self.children()
        self.__dict__[prop.name] = value
        kept = set(map(id, self.children()))
        for child in before:
            if id(child) not in kept:
                child.disown()

    def _resolve(self, names: Sequence[str]) -> None:
        """Recompute the values that are derived from the ones in `names`."""
        for prop in self._properties.values():
            if prop.name in names or prop.fallback in names:
                prop.refresh(self)

    def _commit(self, names: tuple[str, ...]) -> None:
        self.on_change(names)
        if self._parent is not None:
            self._parent._child_changed(self)

    def _child_changed(self, child: "HasProperties") -> None:
        """A nested component changed: the same as a change of the property it is in."""
        name = child._inside
        if self._pending is not None:
            self._pending.append(name)
            return
        self.validate()
        self.on_change((name,))
        if self._parent is not None:
            self._parent._child_changed(self)
        self._notify((name,))

    def _notify(self, names: tuple[str, ...]) -> None:
        for watcher in self._watchers:
            watcher(self, names)

    # Nesting and spreading ----------------------------------------------------------------------

    def spread_over(self, slots: Slots | None) -> None:
        """Resolve every per-actuator property over these slots; None: none are known.

        Raises:
            PropertyError: a name, pattern or length does not fit; nothing was changed.
        """
        before = [(o, dict(o.__dict__)) for o in self._family()]
        try:
            self._spread(slots)
        except BaseException:
            put_back(before)
            raise

    def _spread(self, slots: Slots | None) -> None:
        self.__dict__["_slots"] = slots
        self._resolve(tuple(self._properties))
        for name in self._nesting:
            value = self.__dict__[name]
            parts = enumerate(value) if isinstance(value, tuple) else [(None, value)]
            for index, child in parts:
                if isinstance(child, HasProperties):
                    try:
                        child._spread(slots)
                    except PropertyError as error:
                        keys = (name,) if index is None else (name, index)
                        raise error.below(*keys) from None

    def _family(self) -> list["HasProperties"]:
        """This object and everything nested in it, at any depth."""
        return [self, *(m for child in self.children() for m in child._family())]

    def children(self) -> list["HasProperties"]:
        """The components nested in properties of this one."""
        found: list[HasProperties] = []
        for name in self._nesting:
            value = self.__dict__[name]
            if isinstance(value, HasProperties):
                found.append(value)
            elif isinstance(value, tuple):
                found += [v for v in value if isinstance(v, HasProperties)]
        return found

    def part(self, name: str) -> "HasProperties":
        """The nested component of that name: `delay`, `clamps[0]`.

        Raises:
            PropertyError: there is no such part.
        """
        by_role = {child._role: child for child in self.children()}
        if name not in by_role and name in self._nesting:
            self._properties[name].make_part(self)
            by_role = {child._role: child for child in self.children()}
        if name in by_role:
            return by_role[name]
        raise PropertyError(
            f"{self.label} has no part {name!r}; {suggestion(name, by_role, label='has')}"
        )

    def find_file(self, name: Path) -> Path:
        """A file named in a property: relative to the folder of the scene, if there is one."""
        return find_file(name, self.folder(), self.gate())

    def gate(self) -> Gate | None:
        """Who decides which files may be read; None: any may."""
        return self._parent.gate() if self._parent is not None else None

    def folder(self) -> Path:
        """The folder that file names are relative to."""
        return self._parent.folder() if self._parent is not None else Path()

    # Plain data ---------------------------------------------------------------------------------

    def to_data(self) -> dict[str, object]:
        """What was authored, as plain data: what a scene file would say."""
        return {
            name: self._properties[name].to_data(authored)
            for name, authored in self._authored.items()
            if self._properties[name].stored
        }

    @classmethod
    def from_data(cls, data: Mapping[str, object]) -> Self:
        """The reverse of `to_data`.

        Raises:
            PropertyError: a key is unknown or a value does not fit.
        """
        made = cls.blank()
        made.assign(data)
        return made

    @classmethod
    def blank(cls) -> Self:
        """An instance with nothing authored, whatever arguments the constructor wants."""
        made = cls.__new__(cls)
        HasProperties.__init__(made)
        return made

    def prepare(self) -> None:
        """Hook: set up private state of a fresh instance, before anything is assigned."""

    def own(self, parent: "HasProperties", role: str, inside: str) -> None:
        """Become part of `parent`: `role` is shown in labels, `inside` is the property's name."""
        self.__dict__.update(_parent=parent, _role=role, _inside=inside)

    def adopt(self, child: "HasProperties", role: str, inside: str) -> None:
        """Make a component part of this one; it is freed again if the open group fails."""
        self._before.extend((o, dict(o.__dict__)) for o in child._family())
        child.own(self, role, inside)

    def disown(self) -> None:
        """Stop being part of anything."""
        self.__dict__.update(_parent=None, _role="", _inside="")

    def copy(self) -> Self:
        """An independent copy of what was authored: not bound, watched or nested anywhere."""
        return type(self)._authored_as(deepcopy(self._assigned()))

    def __deepcopy__(self, memo: dict[int, object]) -> Self:
        return self.copy()

    def __reduce__(self) -> tuple[Callable[..., Self], tuple[dict[str, object]]]:
        return (type(self)._authored_as, (self._assigned(),))

    def _assigned(self) -> dict[str, object]:
        """What was authored by assignment; nested components as they are, registered or not."""
        return {n: a for n, a in self._authored.items() if not self._properties[n].read_only}

    @classmethod
    def _authored_as(cls, values: Mapping[str, object]) -> Self:
        made = cls.blank()
        made.assign(values)
        return made

    def __repr__(self) -> str:
        inner = ", ".join(f"{n}={v!r}" for n, v in HasProperties.to_data(self).items())
        return f"{type(self).__name__}({inner})"


def put_back(before: list[tuple[HasProperties, dict[str, object]]]) -> None:
    # The oldest state of an object comes first and wins. Nothing is missing at any moment: another
    # thread may be reading.
    for obj, state in reversed(before):
        obj.__dict__.update(state)
        for name in obj.__dict__.keys() - state.keys():
            del obj.__dict__[name]


def _check_condition(cls: type[HasProperties], name: str, condition: str) -> None:
    other, _, wanted = condition.partition("=")
    if other not in cls._properties:
        has = ", ".join(cls._properties)
        raise TypeError(f"{cls.__name__}.{name}: edit_if names no property {other!r}; has: {has}")
    choices = getattr(cls._properties[other], "choices", None)
    if wanted and choices is not None and wanted not in map(str, choices):
        raise TypeError(
            f"{cls.__name__}.{name}: edit_if names no choice {wanted!r} of {other!r}; "
            f"has: {', '.join(map(str, choices))}"
        )


def frozen(values: object) -> np.ndarray[Any, np.dtype[np.float64]]:
    """A read-only float64 copy."""
    array = np.array(values, dtype=np.float64)
    array.setflags(write=False)
    return array
