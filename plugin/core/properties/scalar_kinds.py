"""Property kinds with one value: numbers, texts, name patterns, choices and files."""

import math
from abc import ABC
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeVar

from mjrig.core.errors import BindingError
from mjrig.core.names import nearest
from mjrig.core.pattern_program import pattern_budget
from mjrig.core.patterns import compile_pattern
from mjrig.core.properties.declaration import Bounds, Property, native, number, plain
from mjrig.core.properties.has_properties import HasProperties

T = TypeVar("T")
E = TypeVar("E", bound=StrEnum)


class Bool(Property[bool]):
    """True or false."""

    kind = "bool"

    def accept(self, obj: HasProperties, value: object) -> tuple[bool, bool]:
        truth = native(value)
        if not isinstance(truth, bool):
            raise self.error(obj, f"must be true or false, got {value!r}")
        return truth, truth

    def json_schema(self) -> dict[str, object]:
        return {"type": "boolean"}


class _Numeric(Property[T], ABC):
    """What Float and Int share: a range."""

    def __init__(
        self,
        default: T,
        *,
        min: float = -math.inf,
        max: float = math.inf,
        soft_min: float | None = None,
        soft_max: float | None = None,
        above: bool = False,
        display: str = "",
        **about: Any,
    ) -> None:
        super().__init__(default, **about)
        self.bounds = Bounds(self.unit, min, max, soft_min, soft_max, above=above)
        self.display = display

    def range_text(self) -> str:
        return self.bounds.text()

    def checked(self, obj: HasProperties, value: object) -> float:
        """A number inside the range."""
        found = number(value)
        if found is None:
            raise self.error(obj, f"must be a number, got {value!r}")
        problem = self.bounds.problem(found)
        if problem:
            raise self.error(obj, problem)
        return found


class Float(_Numeric[float]):
    """A real number; `display="deg"` shows degrees for stored radians."""

    kind = "float"

    def accept(self, obj: HasProperties, value: object) -> tuple[object, float]:
        found = self.checked(obj, value)
        return plain(value), found

    def json_schema(self) -> dict[str, object]:
        return self.bounds.json_schema()

    def default_text(self) -> str:
        return f"{self.default:g}"


class OptionalFloat(_Numeric[float | None]):
    """A real number, or None."""

    kind = "float"

    def accept(self, obj: HasProperties, value: object) -> tuple[object, float | None]:
        if value is None:
            return None, None
        found = self.checked(obj, value)
        return plain(value), found

    def json_schema(self) -> dict[str, object]:
        return {"anyOf": [self.bounds.json_schema(), {"type": "null"}]}

    def default_text(self) -> str:
        return "none" if self.default is None else f"{self.default:g}"


class Int(_Numeric[int]):
    """A whole number."""

    kind = "int"

    def accept(self, obj: HasProperties, value: object) -> tuple[int, int]:
        found = self.checked(obj, value)
        if not math.isfinite(found) or found != int(found):
            raise self.error(obj, f"must be a whole number, got {value!r}")
        kept = plain(value)
        whole = kept if isinstance(kept, int) else int(found)  # beyond 2**53 a float is not exact
        return whole, whole

    def json_schema(self) -> dict[str, object]:
        schema: dict[str, object] = {"type": "integer"}
        if self.bounds.low > -math.inf:
            schema["minimum"] = self.bounds.low
        if self.bounds.high < math.inf:
            schema["maximum"] = self.bounds.high
        return schema


class Text(Property[str]):
    """A string."""

    kind = "text"

    def accept(self, obj: HasProperties, value: object) -> tuple[str, str]:
        if isinstance(value, bool | int | float):
            raise self.error(obj, f"must be text, got {value!r}; quote it")
        if not isinstance(value, str):
            raise self.error(obj, f"must be text, got {value!r}")
        return value, value

    def json_schema(self) -> dict[str, object]:
        return {"type": "string"}

    def default_text(self) -> str:
        return repr(self.default)


class Patterns(Property[tuple[str, ...]]):
    """One name pattern or a list of them (regular expressions, matched in full)."""

    kind = "patterns"

    def declaration_problem(self) -> str:
        if not isinstance(self.default, tuple):
            return f"the default must be a tuple of patterns, got {self.default!r}"
        return super().declaration_problem()

    def authored_default(self) -> object:
        return self.default or ".*"  # empty: not given

    def __set__(self, obj: HasProperties, value: str | Sequence[str]) -> None:
        self.assign(obj, value)

    @pattern_budget()
    def accept(self, obj: HasProperties, value: object) -> tuple[object, tuple[str, ...]]:
        patterns = [value] if isinstance(value, str) else value
        if not isinstance(patterns, list | tuple) or not patterns:
            raise self.error(obj, f"must be a pattern or a list of patterns, got {value!r}")
        for i, pattern in enumerate(patterns):
            if not isinstance(pattern, str):
                raise self.error(obj, f"must be a pattern, got {pattern!r}; quote it", (i,))
            try:
                compile_pattern(pattern)
            except BindingError as error:
                raise self.error(obj, str(error), (i,)) from None
        return (value if isinstance(value, str) else list(patterns)), tuple(patterns)

    def json_schema(self) -> dict[str, object]:
        text = {"type": "string", "format": "regex"}
        return {"anyOf": [text, {"type": "array", "items": text, "minItems": 1}]}

    def default_text(self) -> str:
        return ", ".join(map(repr, self.default))


class Choice(Property[E]):
    """One member of a StrEnum."""

    kind = "choice"

    def __init__(self, default: E, **about: Any) -> None:
        super().__init__(default, **about)
        kind: type[E] = type(default)
        self.choices = tuple(kind) if isinstance(default, StrEnum) else ()

    def declaration_problem(self) -> str:
        if not self.choices:
            return f"the default must be a member of a StrEnum, got {self.default!r}"
        return super().declaration_problem()

    def __set__(self, obj: HasProperties, value: E | str) -> None:
        self.assign(obj, value)

    def accept(self, obj: HasProperties, value: object) -> tuple[str, E]:
        for member in self.choices:
            if isinstance(value, str) and value == member.value:
                return member.value, member
        allowed = ", ".join(m.value for m in self.choices)
        near = nearest(value, (m.value for m in self.choices)) if isinstance(value, str) else None
        hint = f"; did you mean {near!r}?" if near else ""
        raise self.error(obj, f"must be one of {allowed}; got {value!r}{hint}")

    def json_schema(self) -> dict[str, object]:
        return {"enum": [m.value for m in self.choices]}


class FilePath(Property[Path | None]):
    """A file, as written: relative to the scene file, absolute, or `package:…`."""

    kind = "path"

    def __init__(
        self,
        *,
        suffixes: tuple[str, ...] = (),
        prefixes: tuple[str, ...] = (),
        suffix_optional: bool = False,
        **about: Any,
    ) -> None:
        super().__init__(None, **about)
        self.suffixes = suffixes
        self.suffix_optional = suffix_optional
        self.prefixes = prefixes  # a name with such a prefix is not a file name and needs no suffix

    def __set__(self, obj: HasProperties, value: str | Path | None) -> None:
        self.assign(obj, value)

    def accept(self, obj: HasProperties, value: object) -> tuple[object, Path | None]:
        if value is None:
            return None, None
        if not isinstance(value, str | Path) or not str(value):
            raise self.error(obj, f"must be a file name, got {value!r}")
        path = Path(value)
        free = str(value).startswith(self.prefixes) if self.prefixes else False
        known = (*self.suffixes, "") if self.suffix_optional else self.suffixes
        if self.suffixes and not free and path.suffix.lower() not in known:
            raise self.error(obj, f"must end in {' or '.join(self.suffixes)}, got {str(value)!r}")
        return str(value), path

    def files(self, obj: HasProperties) -> tuple[Path, ...]:
        value: Path | None = obj.__dict__[self.name]
        return () if value is None else (value,)

    def rename_file(self, obj: HasProperties, file: Path, name: str) -> None:
        self.assign(obj, name)

    def json_schema(self) -> dict[str, object]:
        return {"type": ["string", "null"]}

    def default_text(self) -> str:
        return "none"
