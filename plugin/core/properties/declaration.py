"""Property: one declaration, and the plain values that it reads and writes.

A declaration is a data descriptor without `__get__` at run time: the value lives in the instance's
`__dict__` under its own name, so reading it costs what reading any attribute costs.
"""

import math
import re
import sys
from collections.abc import Hashable, Mapping
from copy import deepcopy
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeVar, overload

from mjrig.core.errors import PropertyError
from mjrig.core.files.paths import shortened
from mjrig.core.properties.hooks import check_hooks, required

# Bounds -------------------------------------------------------------------------------------------
# Parsing and formatting of numbers, and the ranges they must be in.


# YAML 1.1 reads `1e-3` as text; the user means the number.
_NUMBER = re.compile(
    r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?|[-+]?\.?(inf|Inf|INF)|\.?(nan|NaN|NAN)"
)


def number(value: object) -> float | None:
    """A real number from a number or its text; None if it is neither (a bool is not)."""
    if isinstance(value, str) and _NUMBER.fullmatch(value):
        return float(re.sub(r"\.(?=[iInN])", "", value))  # YAML's .inf and .nan
    if isinstance(value, bool) or not isinstance(value, Real):  # NumPy registers its reals
        return None
    try:
        return float(value)
    except OverflowError:  # an integer beyond any float
        return None


def plain(value: object) -> object:
    """A number as plain Python data, an int where it was written as one."""
    value = native(value)
    return value if isinstance(value, int) else number(value)


def native(value: object) -> object:
    """Arrays and scalars of NumPy as lists and scalars of Python; NumPy need not be loaded."""
    numpy = sys.modules.get("numpy")
    is_array = numpy is not None and isinstance(value, numpy.ndarray | numpy.generic)
    return value.tolist() if is_array else value


def digits(value: float) -> str:
    """A number with all its digits: a refused value must not print like the limit."""
    return repr(float(value)).removesuffix(".0")


class Bounds:
    """A hard range (refused outside) and a soft one (the slider's extent)."""

    def __init__(
        self,
        unit: str,
        low: float,
        high: float,
        soft_low: float | None,
        soft_high: float | None,
        *,
        above: bool = False,
    ) -> None:
        self.unit = f" {unit}" if unit else ""
        self.low, self.high, self.above = low, high, above
        self.soft_low = low if soft_low is None else soft_low
        self.soft_high = high if soft_high is None else soft_high

    def problem(self, value: float) -> str | None:
        """Why a value is refused, or None."""
        if math.isnan(value):
            return "must be a number, got nan"
        if value < self.low or (self.above and value == self.low):
            return f"must be {self.low_text()}, got {digits(value)}"
        if value > self.high:
            return f"must be <= {digits(self.high)}{self.unit}, got {digits(value)}"
        return None

    def declaration_problem(self) -> str:
        """Why no value could be in the range, or the slider could not show it; or empty."""
        is_open = self.above and self.low == self.high
        if math.isnan(self.low) or math.isnan(self.high) or self.low > self.high or is_open:
            return f"no number is {self.text()}"
        if self.soft_low > self.soft_high:
            return f"soft_min {digits(self.soft_low)} is above soft_max {digits(self.soft_high)}"
        return ""

    def low_text(self) -> str:
        """The lower bound in words."""
        return f"{'>' if self.above else '>='} {digits(self.low)}{self.unit}"

    def text(self) -> str:
        """The range in words; empty where there is none."""
        parts = [self.low_text()] if self.low > -math.inf else []
        parts += [f"<= {digits(self.high)}{self.unit}"] if self.high < math.inf else []
        return ", ".join(parts)

    def json_schema(self) -> dict[str, object]:
        """The hard range in JSON Schema keywords; texts such as 1e-3 and inf are numbers too."""
        schema: dict[str, object] = {"type": "number"}
        if self.low > -math.inf:
            schema["exclusiveMinimum" if self.above else "minimum"] = self.low
        if self.high < math.inf:
            schema["maximum"] = self.high
        text = {"type": "string", "pattern": rf"^({_NUMBER.pattern})$"}
        return {"anyOf": [schema, text]}


# Plain values -------------------------------------------------------------------------------------
# Data that a scene file can hold, whatever Python made it of.


#: Levels of lists and mappings in one value: a file has at most 100, and the deepest table of a
#: scene (`actors[0].actuators[0].plugin_config`) is 6 deep.
MAX_DEPTH = 94
#: Digits of an integer: a file is read with at most 300.
MAX_DIGITS = 300


def plain_data(value: object, depth: int = 0) -> object:
    """A copy of plain data: arrays and tuples become lists, numbers of NumPy those of Python.

    Raises:
        ValueError: a file cannot hold it; the text completes "must be …".
    """
    value = native(value)
    if value is None or isinstance(value, bool | float | str):
        return value
    if isinstance(value, int):
        if abs(value) >= 10**MAX_DIGITS:
            raise ValueError(f"a number of at most {MAX_DIGITS} digits")
        return value
    if depth >= MAX_DEPTH:
        raise ValueError(f"nested at most {MAX_DEPTH} deep")
    if isinstance(value, list | tuple):
        return [plain_data(item, depth + 1) for item in value]
    if not isinstance(value, Mapping):
        raise ValueError("plain data: text, numbers, lists and mappings")
    for key in value:
        if not isinstance(key, str):
            raise ValueError(f"a mapping with names as keys, not {key!r}")
    return {key: plain_data(item, depth + 1) for key, item in value.items()}


def shown(value: object) -> str:
    """A value in a message, however large."""
    try:
        return shortened(repr(value))
    except ValueError:  # Python does not print integers of thousands of digits
        return "a value with thousands of digits"


# Declaration -------------------------------------------------------------------------------------


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
        obj.assign({self.name: value})

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
