"""docs/python.md: every public name with its signature and its docstring.

python tools/python_reference.py            # print the page
python tools/python_reference.py --write    # write docs/python.md
"""

import ast
import inspect
import sys
import textwrap
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from enum import Enum
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "python.md"
#: Package → what it is for.
PACKAGES = {
    "mjrig": "The main names.",
    "mjrig.properties": "What components are declared with; see [extending](extending.md).",
    "mjrig.components": "What can be put on an actor; properties are on the [reference page]"
    "(reference.md).",
    "mjrig.scene": "Parts of scene descriptions.",
    "mjrig.sim": "Worlds, batches, export.",
    "mjrig.check": "Pre-flight findings; see [preflight](preflight.md).",
    "mjrig.gains": "Step responses.",
    "mjrig.recording": "Recordings; see [recordings](recordings.md).",
    "mjrig.sim2sim": "Replay and comparison; see [sim2sim](sim2sim.md).",
    "mjrig.tuning": "Responses, gains, fits, sweeps, searches; see [tuning](tuning.md).",
    "mjrig.gym": "Scenes as Gymnasium environments; see [environments](environments.md).",
    "mjrig.editor": "The window from Python; see [editor](editor.md).",
}
#: Classes that are not exported but that public names hand out.
HANDED_OUT = {
    "mjrig": (
        "mjrig.core.errors.NeedsNewWorld", "mjrig.core.errors.FitError",
        "mjrig.core.errors.LocatedError",
        "mjrig.core.control.policy.PolicyComponent",
    ),
    "mjrig.components": (
        "mjrig.core.scene.actuator.Actuator",
        "mjrig.components.controllers.pipeline_controller.PipelineController",
    ),
    "mjrig.sim": ("mjrig.core.sim.batch_robot.BatchRobot", "mjrig.core.control.policy.BatchPolicy"),
    "mjrig.recording": (
        "mjrig.data.recording.recording.ActorRecording",
        "mjrig.data.recording.recording.JointColumns",
        "mjrig.data.recording.recording.RecordedCommands", "mjrig.data.recording.recording.Efforts",
        "mjrig.data.recording.recording.PolicyTicks", "mjrig.data.recording.recording.GainChange",
        "mjrig.data.recording.recording.IntegrationStates",
    ),
}  # fmt: skip
_SECTIONS = ("Args:", "Attributes:", "Raises:", "Returns:", "Yields:")
HEAD = """\
# Python reference

Every public name, from its docstring; `python tools/python_reference.py --write` writes this page.
What a class inherits is described at its base. Components take their properties as keyword
arguments; those are on the [reference page](reference.md).
"""


@dataclass(frozen=True)
class Entry:
    """A class, a function or a member: how it is called, and what its docstring says."""

    name: str
    signature: str
    doc: str
    members: list["Entry"] = field(default_factory=list)
    note: str = ""


def public_names(package: str) -> dict[str, Any]:
    """The public objects of a package, and those they hand out, by name."""
    module = import_module(package)
    names = getattr(module, "__all__", None) or [n for n in dir(module) if not n.startswith("_")]
    found = {name: getattr(module, name) for name in names}
    for path in HANDED_OUT.get(package, ()):
        home, _, name = path.rpartition(".")
        found[name] = getattr(import_module(home), name)
    return dict(sorted(found.items(), key=lambda item: item[0].lower()))


@cache
def entries() -> dict[str, dict[str, Entry | str]]:
    """By package the entry of each name, or the package that has it already."""
    homes: dict[int, str] = {}
    described = {thing for p in PACKAGES for thing in public_names(p).values() if _is_class(thing)}
    found: dict[str, dict[str, Entry | str]] = {}
    for package in PACKAGES:
        found[package] = {}
        for name, thing in public_names(package).items():
            if id(thing) in homes:
                found[package][name] = homes[id(thing)]
                continue
            homes[id(thing)] = package
            found[package][name] = entry_of(name, thing, described)
    return found


def entry_of(name: str, thing: Any, described: set[type]) -> Entry:
    """The entry of a class or function; what a class has of a described base is left out."""
    if not _is_class(thing):
        doc = inspect.getdoc(thing) or ""
        return Entry(name, _call(thing, name) if callable(thing) else "", doc)
    bases = [base for base in thing.__mro__[1:] if base in described]
    known = {member for base in bases for member in _members(base)}
    own = {n for n, value in vars(thing).items() if getattr(value, "__doc__", None)}
    members = [_member(thing, n) for n in sorted(_members(thing)) if n in own or n not in known]
    note = f"A kind of {' and '.join(f'`{b.__name__}`' for b in _nearest(bases))}."
    return Entry(name, _constructor(thing), _own_doc(thing), members, note if bases else "")


def _nearest(bases: list[type]) -> list[type]:
    """Without those that another one is a kind of."""
    return [b for b in bases if not any(b is not o and issubclass(o, b) for o in bases)]


def _is_class(thing: Any) -> bool:
    return inspect.isclass(thing)


def _own_doc(kind: type) -> str:
    """A dataclass without a docstring gets its signature as one; that is none."""
    doc = inspect.getdoc(kind) or ""
    return "" if doc.startswith(f"{kind.__name__}(") else doc


def _is_ours(kind: type) -> bool:
    return kind.__module__.partition(".")[0] == "mjrig"


def _members(kind: type) -> Iterator[str]:
    """Public methods and properties that mjrig defines, those of bases included."""
    seen: set[str] = set()
    for base in kind.__mro__:
        for name, value in vars(base).items() if _is_ours(base) else ():
            plain = isinstance(value, property | classmethod | staticmethod)
            if name.startswith("_") or name in seen or not (plain or inspect.isfunction(value)):
                continue
            seen.add(name)
            yield name


def _member(kind: type, name: str) -> Entry:
    value = inspect.getattr_static(kind, name)
    doc = inspect.getdoc(getattr(kind, name)) or ""
    if isinstance(value, property):
        doc = inspect.getdoc(value) or _inherited(kind, name)
        return Entry(name, f"{name}{_returns(value.fget)}", doc)
    function = value.__func__ if isinstance(value, classmethod | staticmethod) else value
    return Entry(name, _call(function, name), doc)


def _inherited(kind: type, name: str) -> str:
    """The docstring of a property in a base class."""
    for base in kind.__mro__[1:]:
        found = vars(base).get(name)
        if isinstance(found, property) and found.__doc__:
            return inspect.cleandoc(found.__doc__)
    return ""


# Signatures: as they are written -----------------------------------------------------------------


def _source(thing: Any) -> Any:
    """The syntax tree of a function or class; None: it has no source."""
    thing = inspect.unwrap(thing)
    try:
        nodes = _nodes(inspect.getsourcefile(thing) or "")
    except (OSError, TypeError):
        return None
    line = thing.__code__.co_firstlineno if inspect.isfunction(thing) else thing.__qualname__
    return deepcopy(nodes.get(line))  # signatures are rewritten


@cache
def _nodes(file: str) -> dict[int | str, Any]:
    """Functions of a file by their first line, its classes by name."""
    found: dict[int | str, Any] = {}
    for node in ast.walk(ast.parse(Path(file).read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            found[min([node.lineno, *(d.lineno for d in node.decorator_list)])] = node
        elif isinstance(node, ast.ClassDef):
            found.setdefault(node.name, node)
    return found


def _call(function: Any, name: str) -> str:
    node = _source(function)
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return name
    arguments = node.args
    places = arguments.posonlyargs or arguments.args
    if places and places[0].arg in ("self", "cls"):
        del places[0]
    returns = "" if node.returns is None else f" -> {_unquoted(node.returns)}"
    return f"{name}({_unquoted(arguments)}){returns}"


def _returns(function: Any) -> str:
    node = _source(function)
    if isinstance(node, ast.FunctionDef) and node.returns is not None:
        return f": {_unquoted(node.returns)}"
    return ""


def _unquoted(node: Any) -> str:
    """The text of a node, without the quotes of forward references."""
    for inner in ast.walk(node):
        for place in ("annotation", "returns"):
            said = getattr(inner, place, None)
            if isinstance(said, ast.Constant) and isinstance(said.value, str):
                setattr(inner, place, ast.parse(said.value, mode="eval").body)
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    return ast.unparse(node)


def _constructor(kind: type) -> str:
    if hasattr(kind, "properties") and "__init__" not in vars(kind):
        return f"{kind.__name__}(**properties)"
    if issubclass(kind, Enum):
        return f"{kind.__name__}: {', '.join(member.name for member in kind)}"
    if issubclass(kind, BaseException):
        return kind.__name__
    if hasattr(kind, "__dataclass_fields__") and "__init__" not in _written(kind):
        return f"{kind.__name__}({', '.join(_fields(kind))})"
    made = vars(kind).get("__init__") or getattr(kind, "__init__", None)
    if made is object.__init__ or not inspect.isfunction(made):
        return kind.__name__
    return _call(made, kind.__name__).removesuffix(" -> None")


def _written(kind: type) -> set[str]:
    node = _source(kind)
    return {n.name for n in node.body if isinstance(n, ast.FunctionDef)} if node else set()


def _fields(kind: type) -> Iterator[str]:
    for base in reversed(kind.__mro__):
        node = _source(base) if hasattr(base, "__dataclass_fields__") else None
        for line in node.body if node is not None else ():
            if isinstance(line, ast.AnnAssign) and not ast.unparse(line.target).startswith("_"):
                default = " = ..." if line.value is not None else ""
                yield f"{ast.unparse(line.target)}: {_unquoted(line.annotation)}{default}"


# The page ----------------------------------------------------------------------------------------


def page() -> str:
    """The whole page."""
    parts = [HEAD]
    for package, found in entries().items():
        parts.append(f"## `{package}`\n\n{PACKAGES[package]}\n")
        elsewhere = [f"`{n}`" for n, entry in found.items() if isinstance(entry, str)]
        if elsewhere:
            parts.append(f"Also here, described above: {', '.join(elsewhere)}.\n")
        parts += [_section(entry) for entry in found.values() if isinstance(entry, Entry)]
    return "\n".join(parts)


def _section(entry: Entry) -> str:
    lines = [f"### `{entry.name}`", "", "```python", _wrapped(entry.signature), "```", ""]
    lines.append("\n\n".join(text for text in (_prose(entry.doc), entry.note) if text))
    for member in entry.members:
        lines += ["", f"**`{member.signature}`**", "", _prose(member.doc)]
    return "\n".join(lines) + "\n"


def _wrapped(signature: str) -> str:
    if len(signature) <= 100:
        return signature
    return textwrap.fill(signature, 100, subsequent_indent="    ", break_long_words=False)


def _prose(doc: str) -> str:
    """A docstring as Markdown: sections become lists."""
    lines: list[str] = []
    in_section, base = False, 0
    for line in doc.splitlines():
        if line.strip() in _SECTIONS:
            in_section = True
            lines += [""] * (not lines or lines[-1] != "")
            lines += [f"*{line.strip().removesuffix(':')}*", ""]
            continue
        indent = len(line) - len(line.lstrip())
        if in_section and line.strip():
            base = indent if lines and lines[-1] == "" else base
            name, colon, rest = line.strip().partition(": ")
            if indent == base and colon and " " not in name.replace(", ", ""):
                lines.append(f"- `{name}`: {rest}")
            else:
                lines.append(f"  {line.strip()}")
            continue
        in_section = in_section and (not line.strip() or indent > 0)
        lines.append(line)
    return "\n".join(lines).strip()


def lacking() -> list[str]:
    """Public names and members without a docstring."""
    found = []
    for package, names in entries().items():
        for name, entry in names.items():
            if isinstance(entry, Entry):
                found += [f"{package}.{name}"] * (not entry.doc)
                found += [f"{package}.{name}.{m.name}" for m in entry.members if not m.doc]
    return found


def main() -> int:
    """Print or write the page."""
    missing = lacking()
    if missing:
        print("without a docstring: " + ", ".join(missing), file=sys.stderr)
    if "--write" in sys.argv[1:]:
        PAGE.write_text(page(), encoding="utf-8")
        print(f"{PAGE.relative_to(ROOT)} written")
    else:
        print(page())
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
