"""Component types by name: from installed packages, registered in Python, or in a scene's folder.

`type: my_module:MyController` names a class in a module next to the scene. Opening a scene runs no
code unless the user trusts its folder. Such a module is loaded from its file, under a name that no
import statement can use: it neither shadows an installed module nor is shadowed by one, and
modules of two scenes stay separate even if their files have the same name.
"""

import os
import re
import sys
import traceback
from functools import cache
from hashlib import sha256
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any, TypeVar

from mjrig.core.errors import MjrigError, PropertyError, UntrustedTypeError
from mjrig.core.files.paths import read_limited
from mjrig.core.names import suggestion
from mjrig.core.properties.has_properties import Declared, HasProperties

GROUP = "mjrig.components"
C = TypeVar("C")
K = TypeVar("K", bound=type[Any])
#: What `register` was given, by type name.
_registered: dict[str, type[Any]] = {}


def register(cls: K) -> K:
    """Make a component class known by its name in this process; also a class decorator.

    Defining a class again under the same name, as a notebook does, replaces it.

    Raises:
        MjrigError: it is not a component class, lacks a method, or the name belongs to another
            one.
    """
    if not isinstance(cls, type) or not issubclass(cls, Declared):
        raise MjrigError(f"{cls!r} is not a component class")
    if cls._missing_hook:
        raise MjrigError(cls._missing_hook)
    name, where = cls.__name__, _home(cls)
    other = _registered.get(name)
    taken = _points()[name].value if name in _points() else other and _home(other)
    if taken and taken != where:
        raise MjrigError(f"the component {name!r} is {taken} already; give {where} another name")
    _registered[name] = cls
    return cls


def _home(cls: type[Any]) -> str:
    return f"{cls.__module__}:{cls.__qualname__}"


@cache
def _points() -> dict[str, EntryPoint]:
    found: dict[str, EntryPoint] = {}
    for point in entry_points(group=GROUP):
        other = found.setdefault(point.name, point)
        if other.value != point.value:
            raise MjrigError(
                f"two packages register the component {point.name!r}: "
                f"{other.value} and {point.value}; uninstall one of them"
            )
    return dict(sorted(found.items()))


def refresh() -> None:
    """Read the entry points of the installed packages again."""
    _points.cache_clear()
    _load.cache_clear()


@cache
def _load(name: str) -> Any:
    point = _points()[name]
    try:
        cls = point.load()
    except Exception as error:
        raise MjrigError(
            f"component {name!r} cannot be loaded from {point.value}: "
            f"{type(error).__name__}: {error}"
        ) from error
    if not isinstance(cls, type) or not issubclass(cls, Declared):
        raise MjrigError(f"component {name!r}: {point.value} is not a component class")
    if cls._missing_hook:
        raise MjrigError(f"component {name!r}: {cls._missing_hook}")
    if cls.__name__ != name:
        raise MjrigError(
            f"component {name!r}: {point.value} is registered under another name than the class's; "
            f"register it as {cls.__name__!r}"
        )
    return cls


def names(base: type[Any] | None = None) -> list[str]:
    """The known type names, all of them or those of one family."""
    known = sorted({*_points(), *_registered})
    return known if base is None else [name for name in known if issubclass(_class(name), base)]


def get(name: str, base: type[C]) -> type[C]:
    """A component class by type name.

    Raises:
        PropertyError: no such type, or it is not one of the family.
    """
    if name not in _points() and name not in _registered:
        hint = suggestion(name, names(base))
        raise PropertyError(f"there is no {family(base)} type {name!r}; {hint}")
    cls = _class(name)
    if not issubclass(cls, base):
        hint = suggestion(name, names(base))
        raise PropertyError(f"{name!r} is not a type of {family(base)}; {hint}")
    found: type[C] = cls
    return found


def module_of(name: str) -> str:
    """Where a type comes from: `module:class`, without importing it."""
    return _home(_registered[name]) if name in _registered else _points()[name].value


def _class(name: str) -> Any:
    return _registered[name] if name in _registered else _load(name)


def family(base: type[Any]) -> str:
    """The family in words: `articulation controller`; the roots of the tree are `component`."""
    name = base.__name__
    if name in ("HasProperties", "Component", "ActorComponent"):
        return "component"
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower()


# Types in a scene's folder ------------------------------------------------------------------------


#: How such a type is written: the module's file without `.py`, and the class.
PATTERN = r"[A-Za-z_]\w*:[A-Za-z_]\w*"
MAX_BYTES = 10_000_000


def is_module_type(name: str) -> bool:
    """Whether a type name has the form `module:class`."""
    return ":" in name


def load_type(name: str, base: type[C], owner: HasProperties) -> type[C]:
    """The class of a type name, in the folder `owner` finds its files in.

    Raises:
        UntrustedTypeError: the folder is not trusted; nothing was run.
        PropertyError: there is no such module or class, it is of another kind, a sandbox forbids
            it, or the module cannot be loaded.
    """
    _check_name(name)
    if owner.gate() is not None:
        raise PropertyError(f"{name!r} is code beside the scene, and a sandbox runs none")
    return type_in(owner.folder(), name, base, owner.trusted_folders())


def type_in(folder: Path, name: str, base: type[C], trusted: tuple[Path, ...]) -> type[C]:
    """The class of a type name, in a folder; the trusted ones are without links in their names.

    Raises:
        UntrustedTypeError, PropertyError: as in `load_type`.
    """
    _check_name(name)
    file = _file_of(name.partition(":")[0], Path(os.path.realpath(folder)))
    _check_trust(file, trusted)
    return class_in(file, name, base)


def _check_name(name: str) -> None:
    if not re.fullmatch(PATTERN, name):
        raise PropertyError(
            f"{name!r} is not a type; a class in a file beside the scene is "
            "my_module:MyController, the file's name without .py being one Python name: letters, "
            "digits and _, no folder"
        )


def _file_of(module: str, folder: Path) -> Path:
    file = folder / f"{module}.py"
    if not file.is_file():
        names = sorted(path.stem for path in folder.glob("*.py"))
        hint = suggestion(module, names) if names else "the folder has no modules"
        raise PropertyError(f"there is no module {str(file)!r}; {hint}")
    return file


def _check_trust(file: Path, trusted: tuple[Path, ...]) -> None:
    if not any(file.is_relative_to(folder) for folder in trusted):
        way_out = (
            f"trusted is only {' and '.join(repr(str(folder)) for folder in trusted)}; "
            "move the module there (in Python: Scene.load(path, trust=[folder, …]))"
            if trusted
            else "if you trust that folder, pass --trust (in Python: Scene.load(path, trust=True))"
        )
        raise UntrustedTypeError(
            f"the type is code in {str(file)!r}, and opening a scene does not run code; {way_out}",
            folder=file.parent,
        )
    real = Path(os.path.realpath(file))
    if not any(real.is_relative_to(folder) for folder in trusted):
        raise PropertyError(f"{str(file)!r} is a link to {str(real)!r}, which is not trusted")


def class_in(file: Path, name: str, base: type[C]) -> type[C]:
    """The class `name` (`module:class`) of a module whose folder is trusted.

    Raises:
        PropertyError: the module cannot be loaded, or has no such class of this family.
    """
    module = _loaded(file)
    wanted = name.partition(":")[2]
    fitting = [n for n, found in vars(module).items() if _is_defined_in(module, found, base)]
    found = vars(module).get(wanted)
    if wanted not in fitting:
        kind = family(base)
        hint = suggestion(wanted, fitting) if fitting else f"it defines no {kind}"
        problem = f"is not a type of {kind} defined in" if found is not None else "is not in"
        raise PropertyError(f"{wanted!r} {problem} {file.name!r}; {hint}")
    cls: Any = found
    cls._type_name, cls._module_file = name, file
    made: type[C] = cls
    return made


def _is_defined_in(module: ModuleType, found: object, base: type[Any]) -> bool:
    ours = isinstance(found, type) and found.__module__ == module.__name__
    return ours and isinstance(found, type) and issubclass(found, base)


def _loaded(file: Path) -> ModuleType:
    """The module of a file in its current version; one loaded from the same text is reused."""
    try:
        source = read_limited(file, MAX_BYTES)
    except OSError as error:
        raise PropertyError(f"{str(file)!r} cannot be read: {error.strerror or error}") from error
    key = sha256(os.fsencode(file) + b"\0" + source).hexdigest()[:16]
    name = f"mjrig beside a scene.{key}.{file.stem}"
    if name in sys.modules:
        return sys.modules[name]
    module = ModuleType(name)
    module.__file__ = str(file)
    sys.modules[name] = module  # dataclasses and pickle look their module up there
    try:
        exec(compile(source, str(file), "exec"), vars(module))
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        raise PropertyError(_why_not_loaded(file, error)) from error
    return module


def _why_not_loaded(file: Path, error: BaseException) -> str:
    frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename == str(file)]
    line = error.lineno if isinstance(error, SyntaxError) else frames[-1].lineno if frames else None
    where = f"{file}:{line}" if line else str(file)
    problem = f"the module cannot be loaded: {where}: {type(error).__name__}: {error}"
    beside = file.parent / f"{getattr(error, 'name', None)}.py"
    if isinstance(error, ModuleNotFoundError) and beside.is_file():
        problem += "; modules beside a scene cannot import one another: put both into one file"
    return problem


# Errors of user code -----------------------------------------------------------------------------


def described(error: BaseException) -> str:
    """An exception in one line, with component, method and line if a user's class raised it."""
    place = place_of(error)
    text = " ".join(f"{type(error).__name__}: {error}".split()).removesuffix(":")
    return text if place is None else f"{place}: {text}"


def place_of(error: BaseException) -> str | None:
    """`dog.MyController.compute_and_apply (my_module.py:12)`; None: none of their methods ran."""
    found = None
    step = error.__traceback__
    while step is not None:
        owner = _owner(step.tb_frame)
        if owner is not None:
            code = step.tb_frame.f_code
            method, file = code.co_name, Path(code.co_filename).name
            found = f"{owner.label}.{method} ({file}:{step.tb_lineno})"
        step = step.tb_next
    return found


def _owner(frame: FrameType) -> HasProperties | None:
    """The object whose method a frame is, if the method's module is not one of mjrig's own."""
    module = str(frame.f_globals.get("__name__"))
    owner = frame.f_locals.get("self")
    is_ours = module == "mjrig" or module.startswith("mjrig.")
    return owner if isinstance(owner, HasProperties) and not is_ours else None
