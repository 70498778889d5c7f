"""CheckedAttributes: assigning a misspelt or fixed public attribute raises an error."""

from collections.abc import Mapping
from typing import Any, ClassVar, Final, get_origin

from mjrig.core.errors import AttributeNameError
from mjrig.core.names import listed, nearest


class CheckedAttributes:
    """Base of objects whose public attributes are declared in their class.

    Assignable are annotated names (`Final` ones once, in the constructor) and properties with a
    setter. Names that begin with `_` are free. A read costs what it costs without this base; an
    assignment costs a call, so a loop that assigns in every step writes to `__dict__`.
    """

    _open_names: ClassVar[frozenset[str]] = frozenset()
    _fixed_names: ClassVar[frozenset[str]] = frozenset()
    #: Attribute → how to change it, for attributes that cannot be assigned.
    _instead_of: ClassVar[Mapping[str, str]] = {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls._open_names, cls._fixed_names = declared_attributes(cls)

    def __setattr__(self, name: str, value: object) -> None:
        # Reading `__dict__` here would make every later read of an attribute slower.
        if not (name.startswith("_") or name in self._open_names):
            if name not in self._fixed_names or hasattr(self, name):
                raise attribute_error(self, name)
        object.__setattr__(self, name, value)


def declared_attributes(cls: type) -> tuple[frozenset[str], frozenset[str]]:
    """The public names that instances may assign: at any time, and only once."""
    open_names: set[str] = set()
    fixed: set[str] = set()
    for base in reversed(cls.__mro__):
        for name, annotation in vars(base).get("__annotations__", {}).items():
            is_final = _is_final(annotation)
            (fixed if is_final else open_names).add(name)
            (open_names if is_final else fixed).discard(name)
        for name, value in vars(base).items():
            if isinstance(value, property):  # it replaces an annotation of a base
                open_names.discard(name)
                fixed.discard(name)
                if value.fset is not None:
                    open_names.add(name)
    return frozenset(open_names), frozenset(fixed)


def _is_final(annotation: object) -> bool:
    if isinstance(annotation, str):
        return annotation.startswith("Final")
    return annotation is Final or get_origin(annotation) is Final


def attribute_error(target: Any, name: str) -> AttributeNameError:
    """The error for an attribute that cannot be assigned: the nearest name, or what to do."""
    cls = type(target)
    advice = cls._instead_of.get(name)
    if not hasattr(cls, name) and name not in target.__dict__:
        public = [n for n in dir(target) if not n.startswith("_")]
        close = nearest(name, [n for n in public if not callable(getattr(cls, n, None))])
        close = close or nearest(name, public)
        hint = advice or (f"did you mean {close!r}?" if close else f"has: {listed(public)}")
        if not (advice or close or cls.__module__.startswith("mjrig.")):
            hint += f"; annotate it in the class body to add it, as in `{name}: float`"
        return AttributeNameError(f"{cls.__name__} has no attribute {name!r}; {hint}")
    if callable(getattr(cls, name, None)):
        return AttributeNameError(
            f"{cls.__name__}.{name} is a method and cannot be assigned"
            f"; {advice or f'call {name}(…)'}"
        )
    if advice is None and _is_live_array(getattr(target, name, None)):
        advice = f"write into it: {name}[:] = …"
    return AttributeNameError(
        f"{cls.__name__}.{name} is read-only{f'; {advice}' if advice else ''}"
    )


def _is_live_array(value: object) -> bool:
    import numpy as np  # only for an error: the command line's options do not need it

    return isinstance(value, np.ndarray) and value.flags.writeable
