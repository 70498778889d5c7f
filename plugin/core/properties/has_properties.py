"""HasProperties: values checked in the setter, reported in groups, nested in one another.

What the user wrote (the *authored* form) is kept beside the value, for saving and for display.
Values are immutable and swapped whole, never written in place. A shallow copy of `__dict__` is
therefore a full snapshot, on which grouping, rollback and undo are based.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from pathlib import Path
from typing import Any, ClassVar, Self

from mjrig.core.attributes import attribute_error, declared_attributes
from mjrig.core.errors import AttributeNameError, DeclarationError, MjrigError, PropertyError
from mjrig.core.files.paths import Gate, find_file
from mjrig.core.names import listed, nearest, suggestion
from mjrig.core.patterns import Slots
from mjrig.core.properties.actions import Action, collect_actions
from mjrig.core.properties.declaration import Property
from mjrig.core.properties.hooks import (
    check_hooks,
    check_memory_hooks,
    check_outputs,
    check_signatures,
    hook_methods,
    is_replaceable,
    missing_hook,
)
from mjrig.core.properties.synonyms import meant

# Declaration checks -------------------------------------------------------------------------------
# Checks of a declared property when its class is made: its name, its default, its range.


#: The key that names a component's class in a scene file.
_TYPE_KEY = "type"


class _Owner:
    """Stands in for an instance: only its label is known before there is one."""

    _slots = None

    def __init__(self, prop: Property[Any], label: str) -> None:
        self.label = label
        self.__dict__[prop.name] = prop.default


def check_names(cls: Any) -> None:
    """Check the names of properties, before the class gets attributes that could replace them.

    Raises:
        DeclarationError: a name would hide a member of a base class, or is private.
    """
    for name, member in vars(cls).items():
        if isinstance(member, Property):
            _check_name(cls, name)


def check_declarations(cls: Any) -> None:
    """Check the properties that a class declares itself.

    Raises:
        DeclarationError: a default does not fit, or a plain value would remove a property.
    """
    for prop in vars(cls).values():
        if isinstance(prop, Property):
            _check_default(cls, prop)
            _check_fallback(cls, prop)
    for name in vars(cls):
        _check_kept(cls, name)


def _check_name(cls: Any, name: str) -> None:
    where = f"{cls.__name__}.{name}"
    if name.startswith("_"):
        raise DeclarationError(f"{where}: a property's name must not begin with '_'")
    if name == _TYPE_KEY:
        raise DeclarationError(f"{where}: 'type' names the class in a scene file; rename it")
    for base in cls.__mro__[1:]:
        member = vars(base).get(name)
        if name in vars(base) and not isinstance(member, Property):
            if base.__module__ != "builtins" and is_replaceable(member):
                return
            kind = "method" if callable(member) else "attribute"
            raise DeclarationError(
                f"{where}: the property would hide the {kind} {base.__name__}.{name}; "
                "rename the property"
            )


def _check_kept(cls: Any, name: str) -> None:
    """A plain value in the place of a property removes it, and files could no longer set it."""
    member = vars(cls)[name]
    inherited = next((vars(b)[name] for b in cls.__mro__[1:] if name in vars(b)), None)
    if isinstance(inherited, Property) and not isinstance(member, Property):
        raise DeclarationError(
            f"{cls.__name__}.{name} would hide the property {inherited.owner.__name__}.{name}; "
            f"declare it again with another default, as in {name} = "
            f"{type(inherited).__name__}(…), or rename it"
        )


def _check_default(cls: Any, prop: Property[Any]) -> None:
    problem = prop.declaration_problem()
    # A custom kind may read its values from another form than that of its default.
    is_custom = not type(prop).accept.__module__.startswith("mjrig.")
    if not problem and prop.default_is_input and not is_custom:
        try:
            prop.accept(_Owner(prop, cls.__name__), prop.authored_default())
        except PropertyError as error:
            problem = "the default " + str(error).removeprefix(f"{cls.__name__}.{prop.name}: ")
    if problem:
        raise DeclarationError(f"{cls.__name__}.{prop.name}: {problem}")


def _check_fallback(cls: Any, prop: Property[Any]) -> None:
    if prop.fallback is not None and prop.fallback not in cls._properties:
        has = ", ".join(cls._properties)
        raise DeclarationError(
            f"{cls.__name__}.{prop.name}: fallback names no property {prop.fallback!r}; has: {has}"
        )


# Declared -----------------------------------------------------------------------------------------
# What a class declares: its properties and actions by name, and when a property is editable.


class Declared:
    """Collects the declarations of a class and answers questions about them."""

    _properties: ClassVar[dict[str, Property[Any]]] = {}
    _defaults: ClassVar[dict[str, object]] = {}
    _actions: ClassVar[dict[str, Action]] = {}
    #: The required method that an abstract class lacks; empty: none.
    _missing_hook: ClassVar[str] = ""
    _nesting: ClassVar[tuple[str, ...]] = ()
    _assignable: ClassVar[frozenset[str]] = frozenset()
    #: Attribute → how to change it, for attributes that cannot be assigned.
    _instead_of: ClassVar[Mapping[str, str]] = {}

    _authored: dict[str, object]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        check_names(cls)
        found: dict[str, Property[Any]] = {}
        for base in reversed(cls.__mro__):
            found |= {n: p for n, p in vars(base).items() if isinstance(p, Property)}
        cls._properties = {n: p for n, p in found.items() if getattr(cls, n) is p}
        cls._defaults = {n: p.default for n, p in cls._properties.items()}
        cls._nesting = tuple(n for n, p in cls._properties.items() if p.nests)
        cls._actions = collect_actions(cls)
        plain = {n for base in cls.__mro__ for n in vars(base) if _holds_a_value(cls, n)}
        cls._assignable = frozenset(plain).union(*declared_attributes(cls))
        cls._missing_hook = missing_hook(cls)
        check_declarations(cls)
        check_hooks(cls)
        if not cls.__module__.startswith("mjrig."):  # the tests check mjrig's own classes
            check_signatures(cls)
            check_outputs(cls)
            check_memory_hooks(cls)
        for name, prop in cls._properties.items():
            if prop.edit_if is not None:
                _check_condition(cls, name, prop.edit_if)

    def __setattr__(self, name: str, value: object) -> None:
        if not name.startswith("_") and name not in self._assignable:
            if hasattr(type(self), name) or not self._properties:
                raise attribute_error(self, name)
            near = nearest(name, self._properties)
            private = "" if near else f"; as an attribute of your own name it '_{name}'"
            raise AttributeNameError(self._no_property(name) + private)
        object.__setattr__(self, name, value)

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
        close = meant(name, cls._properties) or nearest(name, cls._properties)
        hint = f"did you mean {close!r}?" if close else f"has: {listed(cls._properties)}"
        return f"{cls.__name__} has no property {name!r}; {hint}"

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


def _holds_a_value(cls: type, name: str) -> bool:
    """Whether a class attribute is a value that an instance may replace, as `count = 0` is."""
    value = getattr(cls, name, None)
    return not (callable(value) or isinstance(value, property))


def _check_condition(cls: type[Declared], name: str, condition: str) -> None:
    other, _, wanted = condition.partition("=")
    if other not in cls._properties:
        has = ", ".join(cls._properties)
        raise DeclarationError(
            f"{cls.__name__}.{name}: edit_if names no property {other!r}; has: {has}"
        )
    choices = getattr(cls._properties[other], "choices", None)
    if wanted and choices is not None and wanted not in map(str, choices):
        raise DeclarationError(
            f"{cls.__name__}.{name}: edit_if names no choice {wanted!r} of {other!r}; "
            f"has: {', '.join(map(str, choices))}"
        )


Watcher = Callable[["HasProperties", tuple[str, ...]], None]


class HasProperties(Declared):
    """Base of everything that declares properties."""

    #: Assigned before the others: messages about those contain them.
    _assigned_first: ClassVar[tuple[str, ...]] = ()
    #: Whether a new object runs its hooks even if nothing is assigned, with all properties.
    _begins_with_hooks: ClassVar[bool] = False

    _is_fresh: bool
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
        self.assign(values)

    def _take_defaults(self) -> None:
        if self._missing_hook:
            raise PropertyError(self._missing_hook)
        state = self.__dict__
        state.update(self._defaults)
        state.update(_authored={}, _pending=None, _before=[], _watchers=(), _slots=None)
        state.update(_parent=None, _role="", _inside="", _written_short=False, _token=object())
        for method in hook_methods(type(self), "prepare"):
            method(self)
        state["_is_fresh"] = self._begins_with_hooks

    @classmethod
    def blank(cls) -> Self:
        """An instance with nothing authored, whatever arguments the constructor wants."""
        made = cls.__new__(cls)
        made._take_defaults()
        return made

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
    def path_name(self) -> str:
        """Its name in a path that begins at its parent: the role."""
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

    # Plain data ---------------------------------------------------------------------------------

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
        made.assign(data)
        return made

    def copy(self) -> Self:
        """An independent copy of what was authored: not bound, watched or nested anywhere."""
        return self.from_data(deepcopy(self._assigned()))

    def __deepcopy__(self, memo: dict[int, object]) -> Self:
        return self.copy()

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return (type(self).from_data, (self._assigned(),))

    def _assigned(self) -> dict[str, object]:
        """What was authored by assignment; nested components as they are, registered or not."""
        return {n: a for n, a in self._authored.items() if not self._properties[n].read_only}

    def __repr__(self) -> str:
        inner = ", ".join(f"{n}={v!r}" for n, v in HasProperties.to_data(self).items())
        return f"{type(self).__name__}({inner})"

    # Change -------------------------------------------------------------------------------------

    def assign(self, values: Mapping[str, object]) -> None:
        """Set several properties, all or nothing, with one notification.

        Raises:
            PropertyError: a name is unknown or a value does not fit; nothing was changed.
        """
        if not values and not self._is_fresh:
            return
        with self.changes():
            for name in dict.fromkeys((*self._assigned_first, *values)):
                if name in values:
                    prop = self.property_named(name)
                    if prop.read_only:
                        raise prop.error(self, "is read-only")
                    self._replace(prop, *prop.accept(self, values[name]))

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
            is_fresh, self._is_fresh = self._is_fresh, False
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
        if self._must_rebind():  # binding again resolves the values for the new actuators
            return
        for prop in self._properties.values():
            if prop.name in names or prop.fallback in names:
                prop.refresh(self)

    def _must_rebind(self) -> bool:
        """Hook: whether the actuators that values are spread over are outdated."""
        return False

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
        family = self._family()
        before = [(o, dict(o.__dict__)) for o in family]
        part = self
        try:
            for part in family:
                part.__dict__["_slots"] = slots
                part._resolve(tuple(part._properties))
        except BaseException as error:
            put_back(before)
            if isinstance(error, PropertyError):
                raise error.below(*part.keys_below(self)) from None
            raise

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

    def keys_below(self, outer: "HasProperties | None" = None) -> tuple[str | int, ...]:
        """Its path from an object around it: names and list indices; None: from the outermost."""
        keys: tuple[str | int, ...] = ()
        item = self
        while item is not outer and item._parent is not None:
            value = item._parent.__dict__[item._inside]
            index = (
                [i for i, v in enumerate(value) if v is item] if isinstance(value, tuple) else []
            )
            keys = (item._inside, *index, *keys)
            item = item._parent
        return keys

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
