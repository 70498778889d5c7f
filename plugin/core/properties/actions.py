"""Actions: methods reflected as buttons, `--call` on the command line and entries in the docs."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar, get_args, get_origin

from mjrig.core.errors import PropertyError
from mjrig.core.names import suggestion

F = TypeVar("F", bound=Callable[..., Any])
_MARK = "__mjrig_action__"


@dataclass(frozen=True)
class Parameter:
    """One argument of an action; `default` is `Parameter.REQUIRED` where it must be given."""

    name: str
    type: str
    default: object

    REQUIRED = inspect.Parameter.empty

    @property
    def required(self) -> bool:
        """Whether the argument must be given."""
        return self.default is inspect.Parameter.empty


@dataclass(frozen=True)
class Action:
    """A reflected method."""

    name: str
    doc: str
    parameters: tuple[Parameter, ...]

    @property
    def signature(self) -> str:
        """As it would be written: `hold(keyframe: str)`."""
        inner = ", ".join(
            f"{p.name}: {p.type}" + ("" if p.required else f" = {p.default!r}")
            for p in self.parameters
        )
        return f"{self.name}({inner})"


def action(method: F) -> F:
    """Mark a method as an action."""
    setattr(method, _MARK, True)
    return method


def collect_actions(cls: type) -> dict[str, Action]:
    """The actions of a class, base classes first."""
    names = dict.fromkeys(n for base in reversed(cls.__mro__) for n in vars(base))
    return {n: _reflect(n, getattr(cls, n)) for n in names if hasattr(getattr(cls, n, None), _MARK)}


def _reflect(name: str, method: Callable[..., Any]) -> Action:
    parameters = list(inspect.signature(method).parameters.values())[1:]
    return Action(
        name,
        inspect.getdoc(method) or "",
        tuple(Parameter(p.name, _type_text(p.annotation), p.default) for p in parameters),
    )


def _type_text(annotation: object) -> str:
    if annotation is inspect.Parameter.empty:
        return "value"
    if get_origin(annotation) is Annotated:  # Annotated[ArrayLike, "values"]: as it is described
        return str(get_args(annotation)[1])
    return annotation.__name__ if isinstance(annotation, type) else str(annotation)


_PLAIN_TYPES: dict[str, tuple[str, tuple[type, ...]]] = {
    "str": ("text", (str,)),
    "bool": ("true or false", (bool,)),
    "int": ("a whole number", (int,)),
    "float": ("a number", (int, float)),
}


def _misfit(parameter: Parameter, given: Mapping[str, object]) -> str | None:
    """Why an argument does not fit a parameter of a plain type, or None."""
    if parameter.name not in given or parameter.type not in _PLAIN_TYPES:
        return None
    value = given[parameter.name]
    words, types = _PLAIN_TYPES[parameter.type]
    if isinstance(value, types) and (bool in types or not isinstance(value, bool)):
        return None
    return f"{parameter.name} must be {words}, got {value!r}"


def call_action(target: Any, name: str, arguments: object) -> Any:
    """Call an action by name with plain-data arguments.

    Args:
        target: an object whose class has `actions()`.
        name: the action.
        arguments: None for none, a mapping by name, a list by position, or one single value.

    Raises:
        PropertyError: no such action, or the arguments do not fit its parameters.
    """
    known = {a.name: a for a in type(target).actions()}
    if name not in known:
        hint = suggestion(name, known, label="has")
        raise PropertyError(f"{target.label} has no action {name!r}; {hint}")
    parameters = [p.name for p in known[name].parameters]
    by_name: dict[str, object]
    if arguments is None:
        by_name = {}
    elif isinstance(arguments, Mapping) and set(arguments) <= set(parameters):
        by_name = dict(arguments)
    elif isinstance(arguments, Mapping) and len(parameters) != 1:
        unknown = next(str(key) for key in arguments if key not in parameters)
        hint = suggestion(unknown, parameters, label="has")
        raise PropertyError(
            f"{target.label}.{known[name].signature} has no argument {unknown!r}; {hint}"
        )
    else:
        # A list spreads over the parameters, unless there is only one to take it whole.
        several = isinstance(arguments, list) and len(parameters) != 1
        values = list(arguments) if several else [arguments]  # type: ignore[call-overload]
        if len(values) > len(parameters):
            raise PropertyError(
                f"{target.label}.{known[name].signature} takes {len(parameters)} arguments, "
                f"got {len(values)}"
            )
        by_name = dict(zip(parameters, values, strict=False))
    for parameter in known[name].parameters:
        problem = _misfit(parameter, by_name)
        if problem:
            raise PropertyError(f"{target.label}.{known[name].signature}: {problem}")
    missing = [p.name for p in known[name].parameters if p.required and p.name not in by_name]
    if missing:
        raise PropertyError(f"{target.label}.{known[name].signature}: missing {', '.join(missing)}")
    return getattr(target, name)(**by_name)
