"""Hooks: methods that a subclass implements, checked before they are called for the first time."""

import dis
import inspect
from abc import ABC
from collections.abc import Callable
from functools import cache
from types import FunctionType
from typing import Any, TypeVar

from mjrig.core.errors import DeclarationError, PropertyError
from mjrig.core.names import nearest

F = TypeVar("F", bound=Callable[..., Any])
_REQUIRED = "__mjrig_required__"
_REPLACEABLE = "__mjrig_replaceable__"
_DEFAULT = "__mjrig_default__"
_FILLED = "__mjrig_fills__"
#: Instructions that may write to an array, or pass it on.
_WRITES = ("STORE_SUBSCR", "STORE_SLICE", "STORE_ATTR", "CALL", "SEND", "YIELD_VALUE")


def required(*instead: str) -> Callable[[F], F]:
    """Mark a method that a concrete subclass implements, or one of the methods that replace it."""

    def mark(method: F) -> F:
        setattr(method, _REQUIRED, instead)
        return method

    return mark


def replaceable(method: F) -> F:
    """Mark a method, or the getter of a property, that a declared property may replace."""
    setattr(method, _REPLACEABLE, True)
    return method


def default_hook(method: F) -> F:
    """Mark `memory` or `restore` of a base class: a subclass implements both or none."""
    setattr(method, _DEFAULT, True)
    return method


@cache
def hook_methods(cls: type, name: str) -> tuple[Callable[..., Any], ...]:
    """The methods to call where a hook is due: what mjrig's classes do, then an override.

    A class of another package overrides a hook without super(), and nothing is lost; an override
    that calls super() is the only method.
    """
    override = getattr(cls, name)
    if _is_ours(override) or "super" in inspect.unwrap(override).__code__.co_names:
        return (override,)
    return next(vars(c)[name] for c in cls.__mro__ if _is_ours(c) and name in vars(c)), override


def _is_ours(member: Any) -> bool:
    return str(member.__module__).startswith("mjrig.")


def check_memory_hooks(cls: Any) -> None:
    """Reject a class that stores a memory and does not restore it, or the reverse.

    Raises:
        DeclarationError: one of the two methods is missing.
    """
    hooks = {name: getattr(cls, name, None) for name in ("memory", "restore")}
    missing = [name for name, hook in hooks.items() if hasattr(hook, _DEFAULT)]
    if len(missing) == 1 and all(hooks.values()) and ABC not in cls.__bases__:
        (present,) = hooks.keys() - set(missing)
        raise DeclarationError(
            f"{cls.__name__} implements {present} without {missing[0]}, so that a rewind would "
            "continue with another memory; implement both: `memory` returns a copy, and `restore` "
            "gets it back"
        )


def is_replaceable(member: object) -> bool:
    """Whether a declared property may have the name of this member."""
    return hasattr(_function(member), _REPLACEABLE)


def is_required(method: object) -> bool:
    """Whether a concrete subclass must implement this method."""
    return hasattr(method, _REQUIRED)


def missing_hook(cls: type) -> str:
    """The required method that a class lacks, with the misspelt name; empty: none."""
    for base in cls.__mro__:
        for name, member in vars(base).items():
            method = _function(member)
            alternatives = getattr(method, _REQUIRED, None)
            if alternatives is None or getattr(cls, name) is not member:
                continue
            if any(getattr(cls, other) is not getattr(base, other) for other in alternatives):
                continue
            is_property = isinstance(member, property)
            text = f"the property {name!r}" if is_property else f"{name}{_parameters(method)}"
            close = nearest(name, _new_methods(cls, base))
            hint = f"; rename {close!r}" if close else ""
            return f"{cls.__name__} must implement {text}{hint}"
    return ""


def check_hooks(cls: type) -> None:
    """Reject a class that lacks a required method and is not a base class for others.

    A base class declares the method itself, or lists `abc.ABC` among its bases.

    Raises:
        DeclarationError: a method is missing; the message names it, and a misspelt one.
    """
    is_base = ABC in cls.__bases__ or any(
        is_required(_function(member)) for member in vars(cls).values()
    )
    problem = "" if is_base else missing_hook(cls)
    if problem:
        way_out = "" if "; rename " in problem else "; list abc.ABC as a base of a mere base class"
        raise DeclarationError(problem + way_out)


def _function(member: object) -> Any:
    return member.fget if isinstance(member, property) else member


def _new_methods(cls: type, base: type) -> list[str]:
    """Methods and properties that the classes between `cls` and `base` add."""
    classes = cls.__mro__[: cls.__mro__.index(base)]
    names = [n for c in classes for n, m in vars(c).items() if callable(_function(m))]
    return [n for n in names if not hasattr(base, n)]


def _parameters(method: Callable[..., Any]) -> str:
    return f"({', '.join(inspect.signature(method).parameters)})"


def check_signatures(cls: type) -> None:
    """Reject methods that cannot be called as the methods they override.

    Raises:
        DeclarationError: one takes other arguments, or is not a method.
    """
    for name, method in vars(cls).items():
        base = next((vars(b)[name] for b in cls.__mro__[1:] if name in vars(b)), None)
        if name.startswith("__") or not inspect.isfunction(base):
            continue
        if not base.__module__.startswith("mjrig."):
            continue
        if not callable(method) and not hasattr(method, "__get__"):
            raise DeclarationError(
                f"{cls.__name__}.{name} is {method!r:.60} and must be a method, "
                f"def {name}{_parameters(base)}"
            )
        if not inspect.isfunction(method):
            continue
        parameters = inspect.signature(base).parameters.values()
        count = sum(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in parameters)
        optional = sum(p.default is not p.empty for p in parameters)
        if any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in parameters):
            continue  # the base takes anything, a constructor for example
        try:
            inspect.signature(method).bind(*range(max(1, count - optional)))
        except TypeError as error:
            raise DeclarationError(
                f"{cls.__name__}.{name}{_parameters(method)} is called as "
                f"{name}{_parameters(base)}: {error}"
            ) from None


def check_filled(owner: Any, method: str, result: object, out: object, place: str = "out") -> None:
    """Reject the result of a method that has to write to `out`, named `place` in the message.

    Raises:
        PropertyError: it returned something else.
    """
    if result is not None and result is not out:
        raise PropertyError(
            f"{owner.label}: {type(owner).__name__}.{method} returned {_short(result)}; "
            f"write the values to `{place}` instead, as in `{place}[:] = values`"
        )


def _short(value: object) -> str:
    shape = getattr(value, "shape", None)
    return f"an array of shape {shape}" if shape is not None else f"a {type(value).__name__}"


# Methods that write their result to an argument ------------------------------------------------


def fills(parameter: str) -> Callable[[F], F]:
    """Mark a method whose result is what it writes to an argument.

    `out = gain * error` gives a local variable another value, and the caller's array keeps its old
    one. Nothing of this shows when the method runs, so `check_outputs` examines its code.
    """

    def mark(method: F) -> F:
        setattr(method, _FILLED, parameter)
        return method

    return mark


def check_outputs(cls: type) -> None:
    """Reject methods that cannot write to the argument that their base class marks with `fills`.

    Raises:
        DeclarationError: one only gives the name another value, or ignores it.
    """
    for name, method in vars(cls).items():
        bases = (vars(base)[name] for base in cls.__mro__[1:] if name in vars(base))
        marked = next((base for base in bases if hasattr(base, _FILLED)), None)
        if not isinstance(method, FunctionType) or marked is None:
            continue
        parameter = getattr(marked, _FILLED)
        at = list(inspect.signature(marked).parameters).index(parameter)
        own_name = method.__code__.co_varnames[at : at + 1]
        if at < method.__code__.co_argcount and not _can_write(method, *own_name):
            raise DeclarationError(
                f"{cls.__name__}.{name} never writes to `{own_name[0]}`; write the values into the "
                f"array, as in `{own_name[0]}[:] = values`, not `{own_name[0]} = values`"
            )


def _can_write(method: FunctionType, parameter: str) -> bool:
    code = list(dis.get_instructions(method))
    if parameter in method.__code__.co_cellvars or not any("RETURN" in i.opname for i in code):
        return True  # an inner function has it; or the method always raises
    begin = next((k for k, i in enumerate(code) if _is(i, "STORE", parameter)), len(code))
    if any("JUMP" in i.opname for i in code[:begin]):
        begin = len(code)  # it may keep its value
    if not any(_is(i, "LOAD", parameter) for i in code[: begin + 1]):
        return False
    in_place = any(i.opname == "BINARY_OP" and i.argrepr.endswith("=") for i in code)
    return in_place or any(i.opname.startswith(_WRITES) for i in code)


def _is(instruction: dis.Instruction, kind: str, variable: str) -> bool:
    """Whether an instruction loads or stores a variable, maybe together with another one."""
    value = instruction.argval
    names = value if isinstance(value, tuple) else (value,)
    is_local = kind in instruction.opname and "FAST" in instruction.opname
    return is_local and variable in names
