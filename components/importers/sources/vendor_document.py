"""YAML with Python tags, read as the data behind the tags; nothing is ever constructed.

| in the file | read as |
|---|---|
| `!!python/tuple [1, 2]`, `!!python/object/apply:builtins.slice [null, null, null]` | a list |
| `!!python/object:module.Class {…}` | a mapping |
| `!!python/name:module.function ''`, `!!python/module:module ''` | the name in the tag |
| `!!python/float '0.1'`, `!!python/bool 'true'`, `!!python/none ''` | the value |
| tensors and arrays (`torch…`, `numpy…`) | `Unread`: refused by path where it is wanted |
"""

from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

import yaml

from mjrig.yaml_text.yaml_document import Document, Keys, TextPlace

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
