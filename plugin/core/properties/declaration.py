"""Property: one declared, typed, described value of a class.

A declaration is a data descriptor without `__get__` at run time: the value lives in the instance's
`__dict__` under its own name, so reading it costs what reading any attribute costs.
"""

from collections.abc import Hashable
from copy import deepcopy
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeVar, overload

from mjrig.core.errors import PropertyError
from mjrig.core.properties.hooks import check_hooks, required
from mjrig.core.properties.plain_values import Bounds

T = TypeVar("T")


class Property(Generic[T]):
    """One declared, typed, described value of a component.

    Args:
        default: the value when nothing was authored.
        doc: tooltip; one sentence.
        unit: SI unit shown behind the value.
        category: heading in the inspector and the reference page.
        label: shown in the inspector; None: the name with spaces for underscores.
        edit_if: `"other"` or `"other=value"`: the row is disabled, with the reason, otherwise.
        read_only: only the component sets it.
        stored: saved to the scene file.
        shown: appears in the inspector.
        structural: a change needs rebinding, not only a new value.
        refers: kinds of elements that the value names, so that renaming one updates it:
            `joint`, `actuator`, `body`, `site`, `tendon` of the same actor, or `place`.
    """

    kind: ClassVar[str] = "value"
    refers: tuple[str, ...] = ()
    nests: ClassVar[bool] = False
    #: False: the default stands for "not given" and is not an input itself.
    default_is_input: ClassVar[bool] = True
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

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        check_hooks(cls)

    def __set_name__(self, owner: type, name: str) -> None:
        self.owner, self.name = owner, name

    if TYPE_CHECKING:  # at run time reading bypasses this class

        @overload
        def __get__(self, obj: None, owner: type) -> Self: ...
        @overload
        def __get__(self, obj: object, owner: type) -> T: ...
        def __get__(self, obj: object | None, owner: type) -> Self | T: ...

    def __set__(self, obj: Any, value: T) -> None:
        self.assign(obj, value)

    def assign(self, obj: Any, value: object) -> None:
        """Check a value and assign it.

        Raises:
            PropertyError: it does not fit; nothing was changed.
        """
        if self.read_only:
            raise self.error(obj, "is read-only")
        if obj._pending is None:
            with obj.changes():  # also undoes what accepting a nested component does to it
                self.assign(obj, value)
        else:
            authored, canonical = self.accept(obj, value)
            obj._replace(self, authored, canonical)

    @required()
    def accept(self, obj: Any, value: object) -> tuple[object, T]:
        """The authored form (a plain-data copy) and the canonical value of an input.

        Raises:
            PropertyError: the value does not fit.
        """
        raise NotImplementedError

    def authored_default(self) -> object:
        """The default as `accept` takes it."""
        return self.default

    def declaration_problem(self) -> str:
        """Hook: what is wrong with the declaration itself, besides its default; or empty."""
        texts = {"doc": self.doc, "unit": self.unit, "category": self.category}
        for name, text in texts.items():
            if not isinstance(text, str):
                return f"{name} must be text, got {text!r}"
        bounds = getattr(self, "bounds", None)
        return bounds.declaration_problem() if isinstance(bounds, Bounds) else ""

    def refresh(self, obj: Any) -> None:
        """Hook: derive the value again from what was authored and what it falls back to."""

    def make_part(self, obj: Any) -> None:
        """Hook of a nested property: make the component that can only be of one kind."""

    def to_data(self, authored: Any) -> object:
        """The authored form as plain data for a file."""
        return deepcopy(authored)

    def files(self, obj: Any) -> tuple[Path, ...]:
        """The files that the value names, as it is written."""
        return ()

    def rename_file(self, obj: Any, file: Path, name: str) -> None:
        """Name one of `files` otherwise."""

    def json_schema(self) -> dict[str, object]:
        """JSON Schema of the values in a file; the default accepts any."""
        return {}

    def range_text(self) -> str:
        """The allowed range in words; empty where there is none."""
        return ""

    def default_text(self) -> str:
        """The default in words, for the reference page."""
        return str(self.default)

    def error(
        self,
        obj: Any,
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

    def is_modified(self, obj: Any) -> bool:
        """Whether what was written differs from the default."""
        return self.changed(self.default, obj.__dict__[self.name])
