"""Vendors' configuration files, read as plain data only; every value knows its line.

Python tags in YAML are read as the data behind them; nothing is ever constructed:

| in the file | read as |
|---|---|
| `!!python/tuple [1, 2]`, `!!python/object/apply:builtins.slice [null, null, null]` | a list |
| `!!python/object:module.Class {…}` | a mapping |
| `!!python/name:module.function ''`, `!!python/module:module ''` | the name in the tag |
| `!!python/float '0.1'`, `!!python/bool 'true'`, `!!python/none ''` | the value |
| tensors and arrays (`torch…`, `numpy…`) | `Unread`: refused by path where it is wanted |
"""

import json
import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import yaml

from mjrig.components.importers.sources.policy_description import Doubt
from mjrig.core.errors import SceneError
from mjrig.core.files.paths import read_limited
from mjrig.core.names import suggestion
from mjrig.core.yaml_text.yaml_document import MAX_CHARACTERS, Document, Keys, TextPlace

# Vendor document ----------------------------------------------------------------------------------
# YAML with Python tags, read as the data behind the tags; nothing is ever constructed.

_YAML = "tag:yaml.org,2002:"
_PYTHON = f"{_YAML}python/"
_COLLECTIONS = {yaml.MappingNode: "map", yaml.SequenceNode: "seq"}
#: Tags of single values → the tag of plain YAML that reads the same text.
_SCALARS = {"none": "null", "bool": "bool", "int": "int", "long": "int", "float": "float"}
#: Tags whose own text is the value; the scalar behind them is empty.
_NAMES = ("name:", "module:")
#: Packages whose objects are numbers in a form of their own.
_ARRAYS = ("torch.", "numpy.", "jax.", "jaxlib.", "warp.")


@dataclass(frozen=True)
class Unread:
    """A value that is left in the file: what it is, for the error where it is wanted."""

    what: str

    def __repr__(self) -> str:
        return f"an object of {self.what}, which is not read; write its numbers as a list"


class VendorDocument(Document):
    """A document whose Python tags are data."""

    def _plain(self, node: Any, path: Keys, key: tuple[int, int]) -> Any:
        tag = str(node.tag)
        if not tag.startswith(_PYTHON) or type(node) not in (*_COLLECTIONS, yaml.ScalarNode):
            return super()._plain(node, path, key)
        kind = unquote(tag.removeprefix(_PYTHON))
        made_by = kind.partition(":")[2]
        if kind.startswith("object") and made_by.startswith(_ARRAYS):
            self.places[path] = TextPlace(
                key, (node.start_mark.line + 1, node.start_mark.column + 1)
            )
            return Unread(made_by)
        if type(node) in _COLLECTIONS:
            node.tag = _YAML + _COLLECTIONS[type(node)]
        else:
            node.tag = _YAML + _SCALARS.get(kind, "str")
            node.value = made_by if kind.startswith(_NAMES) and made_by else node.value
        return super()._plain(node, path, key)


# Vendor file --------------------------------------------------------------------------------------

_MISSING = object()
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")
_LEGGED = re.compile(r"LeggedRobotCfg|legged_gym")
_PROGRAM = "is a Python program, which is not run; give a configuration as YAML or JSON"
LEGGED_GYM = (
    "is a training configuration of legged_gym: the order of its joints and its observation are "
    "in the code of the environment. Give the deployment file of its project, as unitree_rl_gym "
    "has in deploy/deploy_mujoco/configs, or write a policy.yaml (docs/policies.md), with the "
    "network that play.py exports"
)


class VendorFile:
    """One configuration file.

    Raises:
        SceneError: it cannot be read, or is neither YAML nor JSON.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            content = read_limited(path, MAX_CHARACTERS)
        except OSError as error:
            raise SceneError(f"cannot read {path}: {error.strerror or error}") from error
        text = _text(path, content)
        if path.suffix == ".py":
            raise SceneError(f"{path.name}: {LEGGED_GYM if _LEGGED.search(text) else _PROGRAM}")
        self.digest = sha256(content).hexdigest()
        if path.suffix == ".json":
            _check_json(path, text)
        self.document = VendorDocument(text, path.name)
        self.data: Any = self.document.data
        if self.data is None:
            why = "has only comments" if text.strip() else "is empty"
            raise SceneError(f"{path.name}: {why}; a configuration has keys and values")

    @property
    def root(self) -> "VendorEntry":
        """The whole of it."""
        return VendorEntry(self.document, (), self.data)

    def has(self, *keys: str) -> bool:
        """Whether all of these are top-level keys."""
        return isinstance(self.data, dict) and all(key in self.data for key in keys)


def _text(path: Path, content: bytes) -> str:
    """The content as text without control characters.

    Raises:
        SceneError: it is none.
    """
    try:
        text = content.decode()
    except UnicodeDecodeError:
        text = "\0"
    if _CONTROL.search(text):
        raise SceneError(
            f"{path.name}: is neither a configuration (YAML or JSON) nor a network (ONNX or "
            f"TorchScript); it begins with the bytes {content[:8].hex(' ')}"
        )
    return text


def _check_json(path: Path, text: str) -> None:
    """JSON is almost YAML; errors in it are clearer from a JSON parser."""
    try:
        json.loads(text)
    except (ValueError, RecursionError) as error:
        raise SceneError(f"{path.name}: is not valid JSON: {error}") from error


class VendorEntry:
    """A value in a configuration file; errors name file, line, column and path."""

    def __init__(self, document: Document, path: Keys, data: Any) -> None:
        self.document, self.path, self.data = document, path, data

    def error(self, problem: str) -> SceneError:
        """A SceneError at this place."""
        return self.document.error(self.path, problem)

    def __contains__(self, key: str) -> bool:
        return isinstance(self.data, dict) and self.data.get(key) is not None

    def mapping(self) -> Mapping[str, Any]:
        """Itself as a mapping."""
        if isinstance(self.data, Unread):
            raise self.error(f"is {self.data!r}")
        if not isinstance(self.data, dict):
            raise self.error(f"must be a mapping, got {_short(self.data)}")
        return self.data

    def at(self, key: str) -> "VendorEntry":
        """The value of a key.

        Raises:
            SceneError: the key is missing.
        """
        data = self.mapping()
        if key not in data:
            raise self.error(f"{key!r} is missing; {suggestion(key, data, label='has')}")
        return VendorEntry(self.document, (*self.path, key), data[key])

    def get(self, key: str) -> "VendorEntry | None":
        """The value of a key; None: the file gives none."""
        return self.at(key) if key in self else None

    def section(self, key: str) -> "VendorEntry | None":
        """A mapping under a key; None: there is none, or something else."""
        entry = self.get(key)
        return entry if entry is not None and isinstance(entry.data, dict) else None

    def flag(self, key: str) -> bool | None:
        """A boolean under a key; None: there is none."""
        value = self.mapping().get(key)
        return value if isinstance(value, bool) else None

    def entries(self) -> Iterator[tuple[str, "VendorEntry"]]:
        """Keys and values of a mapping."""
        for key in self.mapping():
            yield key, self.at(key)

    def number(self, key: str, default: Any = _MISSING, *, above: float = -math.inf) -> float:
        """A finite number under a key, greater than `above`."""
        if default is not _MISSING and key not in self:
            return float(default)
        return self.at(key).as_number(above=above)

    def as_number(self, *, above: float = -math.inf, infinite: bool = False) -> float:
        """Itself as a finite number; `infinite`: as a number or +inf, which is no limit."""
        value = _number(self.data)
        if infinite and value is not None and value == math.inf:
            return value
        if value is None or not math.isfinite(value):
            raise self.error(f"must be a finite number, got {_short(self.data)}")
        if value <= above:
            raise self.error(f"must be > {above:g}, got {value:g}")
        return value

    def whole(self, key: str, default: Any = _MISSING) -> int:
        """A whole number >= 1 under a key."""
        value = self.number(key, default)
        if value != int(value) or value < 1:
            raise self.at(key).error(f"must be a whole number >= 1, got {value:g}")
        return int(value)

    def numbers(
        self,
        key: str,
        size: int | None = None,
        what: str = "joint",
        default: Sequence[float] | None = None,
    ) -> list[float]:
        """A list of finite numbers under a key; one number stands for all where a size is known."""
        if default is not None and key not in self:
            return list(default)
        entry = self.at(key)
        if size is not None and _number(entry.data) is not None:
            return [entry.as_number()] * size
        values = [e.as_number() for e in entry.items()]
        if size is not None and len(values) != size:
            raise entry.error(f"must have {size} values, one per {what}, got {len(values)}")
        return values

    def indices(self, key: str, size: int, count: int) -> list[int]:
        """`size` distinct indices into a list of `count`."""
        entry = self.at(key)
        values = self.numbers(key, size)
        for value in values:
            if value != int(value) or not 0 <= value < count:
                raise entry.error(f"must be indices from 0 to {count - 1}, got {value:g}")
        if len(set(values)) != len(values):
            twice = next(v for i, v in enumerate(values) if v in values[:i])
            raise entry.error(f"the index {twice:g} is listed twice")
        return [int(v) for v in values]

    def texts(self, key: str, *, distinct: bool = False) -> list[str]:
        """A list of texts under a key."""
        entry = self.at(key)
        texts = [str(e.data) for e in entry.items()]
        if distinct and len(set(texts)) != len(texts):
            twice = next(t for i, t in enumerate(texts) if t in texts[:i])
            raise entry.error(f"the name {twice!r} is listed twice")
        return texts

    def text(self, key: str, default: str = "") -> str:
        """A text under a key."""
        return str(self.at(key).data) if key in self else default

    def one_or_more(self) -> "list[VendorEntry]":
        """The items of a list; a text stands for a list of one."""
        return [self] if isinstance(self.data, str) else self.items()

    def items(self) -> "list[VendorEntry]":
        """The items of a list."""
        if isinstance(self.data, str) or not isinstance(self.data, Sequence):
            raise self.error(f"must be a list, got {_short(self.data)}")
        return [
            VendorEntry(self.document, (*self.path, i), item) for i, item in enumerate(self.data)
        ]


def _number(value: object) -> float | None:
    """YAML 1.1 reads `1e-3` as text; it is a number here."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        return float(value)
    except (ValueError, OverflowError):
        return None


def _short(value: object) -> str:
    text = repr(value)
    if isinstance(value, Unread):
        return text
    return text if len(text) <= 60 else f"{text[:57]}…"


# Unread -------------------------------------------------------------------------------------------
# Fields of a configuration that no reader knows: they are listed, never dropped.

#: Values that switch a field off.
_OFF: tuple[Any, ...] = (None, False, 0, "", [], {})


def unread(places: Iterable[tuple[VendorEntry, Collection[str]]]) -> tuple[Doubt, ...]:
    """A finding about all fields with a value that are not among the known ones of their place."""
    found = [
        f"{'.'.join(map(str, (*entry.path, key)))} {_brief(value)}"
        for entry, known in places
        for key, value in entry.mapping().items()
        if key not in known and value not in _OFF
    ]
    if not found:
        return ()
    text = f"fields that are not known, and not taken over: {'; '.join(found)}"
    fix = "if they change observations or targets, policy.yaml lacks that"
    return (Doubt("not-taken-over", text, fix),)


def _brief(value: object) -> str:
    text = str(value)
    return text if len(text) <= 40 else f"{text[:39]}…"
