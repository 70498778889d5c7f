"""YAML aliases: which nodes of a document are shared, and their values in new data."""

from collections.abc import Iterable, Mapping
from typing import Any

import yaml

from mjrig.yaml_text.comparison import same
from mjrig.yaml_text.yaml_nodes import AliasNode

#: The tag of `<<`, whose value is merged into the mapping.
MERGE = "tag:yaml.org,2002:merge"


def aliases(node: Any) -> Iterable[AliasNode]:
    """Every alias at or below a node."""
    if isinstance(node, AliasNode):
        yield node
    elif isinstance(node, yaml.CollectionNode):
        for item in node.value:
            for part in item if isinstance(item, tuple) else (item,):
                yield from aliases(part)


def common_nodes(root: Any, data: Any, uses: Mapping[int, int]) -> set[int]:
    """The shared nodes that have the same value in the new data wherever they are used."""
    said: dict[int, list[Any]] = {}
    for node, new in _said(root, data):
        said.setdefault(node, []).append(new)
    return {
        node
        for node, count in uses.items()
        if len(values := said.get(node, [])) == count + 1
        and all(same(values[0], v) for v in values)
    }


def _said(node: Any, new: Any) -> Iterable[tuple[int, Any]]:
    """The new data at the place of each node."""
    if isinstance(node, AliasNode):
        yield id(node.target), new
        return
    yield id(node), new
    if isinstance(node, yaml.MappingNode) and isinstance(new, Mapping):
        for key, value in node.value:
            if key.tag != MERGE and key.value in new:
                yield from _said(value, new[key.value])
    elif isinstance(node, yaml.SequenceNode) and isinstance(new, list | tuple):
        if len(node.value) == len(new):
            for item, value in zip(node.value, new, strict=True):
                yield from _said(item, value)
