"""HasProperties: values checked in the setter, reported in groups, nested in one another.

What the user wrote (the *authored* form) is kept beside the value, for saving and for display.
Values are immutable and swapped whole, never written in place. A shallow copy of `__dict__` is
therefore a full snapshot, on which grouping, rollback and undo are based.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from pathlib import Path
from typing import Any, Self

from mjrig.core.errors import MjrigError, PropertyError
from mjrig.core.files.paths import Gate, find_file
from mjrig.core.names import Slots, listed, suggestion
from mjrig.core.properties.class_properties import Declared
from mjrig.core.properties.declaration import Property
from mjrig.core.properties.hooks import hook_methods

# Plain data ---------------------------------------------------------------------------------------
# Objects with properties as plain data, and copies of them.


class PlainData(Declared):
    """Conversion to and from the data of a scene file; copying and pickling are based on it."""

    def _begin(self, values: Mapping[str, object]) -> None:
        """Assign the first values of a fresh instance."""
        raise NotImplementedError

    def _take_defaults(self) -> None:
        """Give a fresh instance its defaults."""
        raise NotImplementedError

    def to_data(self) -> dict[str, object]:
        """What was authored, as plain data, as in a scene file."""
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
        made._begin(data)
        return made

    @classmethod
    def blank(cls) -> Self:
        """An instance with nothing authored, whatever arguments the constructor wants."""
        made = cls.__new__(cls)
        made._take_defaults()
        return made

    def copy(self) -> Self:
        """An independent copy of what was authored: not bound, watched or nested anywhere."""
        return type(self)._authored_as(deepcopy(self._assigned()))

    def __deepcopy__(self, memo: dict[int, object]) -> Self:
        return self.copy()

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return (type(self)._authored_as, (self._assigned(),))

    def _assigned(self) -> dict[str, object]:
        """What was authored by assignment; nested components as they are, registered or not."""
        return {n: a for n, a in self._authored.items() if not self._properties[n].read_only}

    @classmethod
    def _authored_as(cls, values: Mapping[str, object]) -> Self:
        made = cls.blank()
        made._begin(values)
        return made

    def __repr__(self) -> str:
        inner = ", ".join(f"{n}={v!r}" for n, v in PlainData.to_data(self).items())
        return f"{type(self).__name__}({inner})"


# Has properties -----------------------------------------------------------------------------------


Watcher = Callable[["HasProperties", tuple[str, ...]], None]


class HasProperties(PlainData):
    """Base of everything that declares properties."""

    _pending: list[str] | None
    _before: list[tuple["HasProperties", dict[str, object]]]
    _watchers: tuple[Watcher, ...]
    _parent: "HasProperties | None"
    _role: str
    _inside: str
    _slots: Slots | None
    _written_short: bool
    #: Stands for the item of a file that this object is, whatever its name and values.
    _token: object

    def __init__(self, **values: object) -> None:
        self._take_defaults()
        self._begin(values)

    def _take_defaults(self) -> None:
        if self._missing_hook:
            raise PropertyError(self._missing_hook)
        state = self.__dict__
        state.update(self._defaults)
        state.update(_authored={}, _pending=None, _before=[], _watchers=(), _slots=None)
        state.update(_parent=None, _role="", _inside="", _written_short=False, _token=object())
        for method in hook_methods(type(self), "prepare"):
            method(self)

    @property
    def label(self) -> str:
        """Where this object is, for messages: `dog.PDController.clamps[0]`."""
        if self._parent is None:
            return type(self).__name__
        return f"{self._parent.label}.{self._role}"

    # Hooks --------------------------------------------------------------------------------------
    #
    # A class of another package may override a hook without calling super(): `hook_methods`.

    def prepare(self) -> None:
        """Hook: set up private state of a fresh instance, before anything is assigned."""

    def validate(self) -> None:
        """Hook: check properties against one another; raise ValueError to undo the group."""

    def on_change(self, names: tuple[str, ...]) -> None:
        """Hook: derive what depends on the properties that changed; raise to undo the group.

        A fresh component is called with all of its properties.
        """

    # Reading ------------------------------------------------------------------------------------

    @property
    def parent(self) -> "HasProperties | None":
        """The object this one is part of, or None."""
        return self._parent

    @property
    def role(self) -> str:
        """Its name within its parent: `PDController_2`, `clamps[0]`; empty without a parent."""
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

    # Change -------------------------------------------------------------------------------------

    def assign(self, values: Mapping[str, object]) -> None:
        """Set several properties, all or nothing, with one notification.

        Raises:
            PropertyError: a name is unknown or a value does not fit; nothing was changed.
        """
        with self.changes():
            for name, value in values.items():
                self.property_named(name).assign(self, value)

    def _begin(self, values: Mapping[str, object]) -> None:
        """Assign the first values of a fresh instance."""
        if values:
            self.assign(values)

    def unset(self, name: str) -> None:
        """Return a property to its default, as if nothing had been authored."""
        prop = self.property_named(name)
        if name in self._authored:
            rest = {n: a for n, a in self._authored.items() if n != name}
            with self.changes() as pending:
                self.__dict__["_authored"] = rest
                self._swap(prop, prop.default)
                pending.append(name)

    @contextmanager
    def changes(self, *, nested: bool = True) -> Iterator[list[str]]:
        """Group assignments: one notification at the end, everything undone after an error.

        Args:
            nested: also undo changes of nested components; False: the group makes none.
        """
        if self._pending is not None:  # nested: the outermost block reports
            yield self._pending
            return
        before = [(o, dict(o.__dict__)) for o in (self._family() if nested else [self])]
        pending: list[str] = []
        names: tuple[str, ...] = ()
        self.__dict__.update(_pending=pending, _before=before)
        committing = False
        try:
            yield pending
            names = tuple(dict.fromkeys(pending))
            is_fresh = self.__dict__.pop("_is_fresh", False)
            if names:
                self._resolve(names)
            if names or is_fresh:
                self._run_hook("validate")
                committing = not is_fresh
                self._commit(tuple(self._properties) if is_fresh else names)
        except BaseException:
            put_back(before)
            if committing:  # what was derived from the refused values is derived again
                self._commit(names)
            raise
        self.__dict__.update(_pending=None, _before=[])
        if names:
            self._notify(names)

    def reorder(self, names: Sequence[str]) -> None:
        """List the authored properties in this order in the file; values stay.

        Raises:
            PropertyError: these are not the authored ones.
        """
        if len(names) != len(self._authored) or set(names) != self._authored.keys():
            raise PropertyError(f"{self.label}: {listed(names)} are not the authored properties")
        self.__dict__["_authored"] = {name: self._authored[name] for name in names}

    def watch(self, watcher: Watcher) -> Callable[[], None]:
        """Call `watcher(self, names)` once per group of changes; returns the way to stop it."""
        self.__dict__["_watchers"] = (*self._watchers, watcher)

        def stop() -> None:
            self.__dict__["_watchers"] = tuple(w for w in self._watchers if w is not watcher)

        return stop

    def _replace(self, prop: Property[Any], authored: object, value: object) -> None:
        """Put a new value in place, within a group of changes."""
        assert self._pending is not None
        self.__dict__["_authored"] = {**self._authored, prop.name: authored}
        self._swap(prop, value)
        self._pending.append(prop.name)

    def _swap(self, prop: Property[Any], value: object) -> None:
        """Put a new value in place; nested components that are no longer in it become free."""
        if not prop.nests:
            self.__dict__[prop.name] = value
            return
        before = self.children()
        self.__dict__[prop.name] = value
        after = self.children()
        gone, fresh = _without(before, after), _without(after, before)
        for child in gone:
            child.disown()
        if gone or fresh:
            self._items_replaced(self, prop.name, gone, fresh)

    def _items_replaced(
        self,
        owner: "HasProperties",
        name: str,
        gone: Sequence["HasProperties"],
        fresh: Sequence["HasProperties"],
    ) -> None:
        """Hook of the outermost object: a nested property of `owner` has other components."""
        if self._parent is not None:
            self._parent._items_replaced(owner, name, gone, fresh)

    def _resolve(self, names: Sequence[str]) -> None:
        """Recompute the values that are derived from the ones in `names`."""
        for prop in self._properties.values():
            if prop.name in names or prop.fallback in names:
                prop.refresh(self)

    def _commit(self, names: tuple[str, ...]) -> None:
        self._run_hook("on_change", names)
        if self._parent is not None:
            self._parent._child_changed(self)

    def _child_changed(self, child: "HasProperties") -> None:
        """A nested component changed: the same as a change of the property it is in."""
        name = child._inside
        if self._pending is not None:
            self._pending.append(name)
            return
        self._run_hook("validate")
        self._commit((name,))
        self._notify((name,))

    def _run_hook(self, name: str, *arguments: object) -> None:
        """Call a hook; a ValueError in it is about the properties, so it gets their place."""
        try:
            for method in hook_methods(type(self), name):
                method(self, *arguments)
        except ValueError as error:
            if isinstance(error, MjrigError):
                raise
            raise PropertyError(f"{self.label}: {error}") from error

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

    def own(self, parent: "HasProperties", role: str, inside: str) -> None:
        """Become part of `parent`: `role` is shown in labels, `inside` is the property's name."""
        self.__dict__.update(_parent=parent, _role=role, _inside=inside)

    def adopt(self, child: "HasProperties", role: str, inside: str) -> None:
        """Make a component part of this one; it is freed again if the open group fails."""
        if child._parent is not self:  # otherwise the open group already saved it
            self._before.extend((o, dict(o.__dict__)) for o in child._family())
        child.own(self, role, inside)

    def disown(self) -> None:
        """Stop being part of anything."""
        self.__dict__.update(_parent=None, _role="", _inside="")

    def find_file(self, name: Path) -> Path:
        """A file named in a property: relative to the folder of the scene, if there is one."""
        return find_file(name, self.folder(), self.gate(), self.trusted_folders())

    def gate(self) -> Gate | None:
        """The policy that decides which files may be read; None: all may."""
        return self._parent.gate() if self._parent is not None else None

    def trusted_folders(self) -> tuple[Path, ...]:
        """The folders whose modules may be run, without links in their names."""
        return self._parent.trusted_folders() if self._parent is not None else ()

    def folder(self) -> Path:
        """The folder that file names are relative to."""
        return self._parent.folder() if self._parent is not None else Path()


def _without(
    components: Sequence[HasProperties], others: Sequence[HasProperties]
) -> list[HasProperties]:
    excluded = set(map(id, others))
    return [c for c in components if id(c) not in excluded]


def put_back(before: list[tuple[HasProperties, dict[str, object]]]) -> None:
    # The oldest state of an object comes first and wins. Nothing is missing at any moment: another
    # thread may be reading.
    for obj, state in reversed(before):
        obj.__dict__.update(state)
        for name in obj.__dict__.keys() - state.keys():
            del obj.__dict__[name]
