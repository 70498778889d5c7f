"""The nodes of a YAML text: counted before they are made, with the places of aliases kept."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

import yaml
from yaml.composer import ComposerError

MAX_NODES = 50_000
MAX_NESTING = 100
#: Characters of a text that cannot have too many values: it is read without counting them first.
SHORT = 4_000
#: Characters in front of a mistake up to which the scanner written in Python explains it.
MAX_EXPLAINED = 40_000
TOO_MANY = f"has more than {MAX_NODES} values"
TOO_DEEP = f"nested more than {MAX_NESTING} deep"
_SEQUENCE, _MAPPING = "tag:yaml.org,2002:seq", "tag:yaml.org,2002:map"
#: libyaml's scanner finds the same nodes in a sixth of the time; wheels of PyYAML bring it along.
_HAS_LIBYAML = hasattr(yaml, "CSafeLoader")
if TYPE_CHECKING or not _HAS_LIBYAML:
    _Scanner = yaml.SafeLoader
else:
    _Scanner = yaml.CSafeLoader


class AliasNode(yaml.Node):
    """`*name`, at its own place in the text; `target` is the node it refers to."""

    id = "alias"

    def __init__(self, target: Any, event: Any) -> None:
        self.target, self.tag, self.value = target, target.tag, target.value
        self.start_mark, self.end_mark = event.start_mark, event.end_mark


class _Nodes:
    """Composes as the safe loader does, but keeps the places of aliases and limits the size.

    It is written out for speed: most of the time that a long text takes is spent here.
    """

    _composed = 0

    def get_single_node(self) -> Any:
        """The node of the text's only document; None: there is none.

        Raises:
            yaml.MarkedYAMLError: with the place.
        """
        loader: Any = self
        self._anchors: dict[str, Any] = {}
        loader.get_event()  # the stream begins
        root: Any = None
        if not loader.check_event(yaml.StreamEndEvent):
            loader.get_event()  # the document begins
            root = self._node(loader.get_event(), 0)
            loader.get_event()
        if not loader.check_event(yaml.StreamEndEvent):
            raise ComposerError(
                "expected a single document in the stream",
                root.start_mark,
                "but found another document",
                loader.get_event().start_mark,
            )
        return root

    def _node(self, event: Any, depth: int) -> Any:
        self._composed += 1
        if self._composed > MAX_NODES or depth > MAX_NESTING:
            problem = TOO_MANY if self._composed > MAX_NODES else TOO_DEEP
            raise yaml.MarkedYAMLError(problem=problem, problem_mark=event.start_mark)
        kind = type(event)
        if kind is yaml.AliasEvent:
            return self._alias(event)
        loader, tag, start = cast(Any, self), event.tag, event.start_mark
        if kind is yaml.ScalarEvent:
            if tag is None or tag == "!":
                tag = loader.resolve(yaml.ScalarNode, event.value, event.implicit)
            node = yaml.ScalarNode(tag, event.value, start, event.end_mark, style=event.style)
            self._keep(event, node)
            return node
        made: list[Any] = []
        if kind is yaml.SequenceStartEvent:
            tag = _SEQUENCE if tag is None or tag == "!" else tag
            node = yaml.SequenceNode(tag, made, start, None, flow_style=event.flow_style)
            self._keep(event, node)
            while type(inner := loader.get_event()) is not yaml.SequenceEndEvent:
                made.append(self._node(inner, depth + 1))
        else:
            tag = _MAPPING if tag is None or tag == "!" else tag
            node = yaml.MappingNode(tag, made, start, None, flow_style=event.flow_style)
            self._keep(event, node)
            while type(inner := loader.get_event()) is not yaml.MappingEndEvent:
                key = self._node(inner, depth + 1)
                made.append((key, self._node(loader.get_event(), depth + 1)))
        node.end_mark = inner.end_mark
        return self._finished(node)

    def _alias(self, event: Any) -> AliasNode:
        if event.anchor not in self._anchors:
            problem = f"found undefined alias {event.anchor!r}"
            raise ComposerError(None, None, problem, event.start_mark)
        return AliasNode(self._anchors[event.anchor], event)

    def _keep(self, event: Any, node: Any) -> None:
        """Remember a node that aliases can refer to."""
        name = event.anchor
        if name is None:
            return
        if name in self._anchors:
            raise ComposerError(
                f"found duplicate anchor {name!r}; first occurrence",
                self._anchors[name].start_mark,
                "second occurrence",
                event.start_mark,
            )
        self._anchors[name] = node

    def _finished(self, node: Any) -> Any:
        """Hook: a sequence or a mapping is complete."""
        return node


class _PythonLoader(_Nodes, yaml.SafeLoader):
    """With the scanner written in Python, which explains mistakes best."""


class _Loader(_Nodes, _Scanner):
    """With the fastest scanner there is."""

    def __init__(self, text: str) -> None:
        _Scanner.__init__(self, text)
        self._text = text

    def _finished(self, node: Any) -> Any:
        is_flow_mapping = node.flow_style and isinstance(node, yaml.MappingNode)
        for key, value in node.value if is_flow_mapping else ():
            if value.start_mark.index == value.end_mark.index:
                value.start_mark = value.end_mark = self._after_colon(key, value)
        return node

    def _after_colon(self, key: Any, value: Any) -> Any:
        """The place of a value that is not there: libyaml's is in front of what follows."""
        start, colon = key.end_mark, key.end_mark.index
        while self._text[colon : colon + 1] in (" ", "\t"):
            colon += 1
        if self._text[colon : colon + 1] != ":":
            return value.start_mark
        column = start.column + colon + 1 - start.index
        return yaml.Mark(start.name, colon + 1, start.line, column, None, 0)


def composed(text: str) -> tuple[Any, int]:
    """The nodes of a text, and their number.

    Raises:
        yaml.MarkedYAMLError: with the place.
    """
    try:
        return _compose(_Loader(text))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        if mark is None or mark.index > MAX_EXPLAINED:
            raise
        return _compose(_PythonLoader(text))


def _compose(loader: Any) -> tuple[Any, int]:
    try:
        return loader.get_single_node(), loader._composed
    finally:
        loader.dispose()


def count_values(data: Any) -> int:
    """The number of values that plain data has in a text, keys included."""
    if isinstance(data, Mapping):
        return 1 + len(data) + sum(map(count_values, data.values()))
    return 1 + sum(map(count_values, data)) if isinstance(data, list | tuple) else 1


def counted(text: str) -> int:
    """The number of values; 0: it cannot be told without reading them.

    Too many are refused, and too deep nesting.

    Raises:
        yaml.MarkedYAMLError: with the place; anything else that is wrong is found later.
    """
    count = depth = 0
    events = iter(yaml.parse(text, Loader=_Scanner)) if _HAS_LIBYAML else iter(())
    while True:
        try:
            event = next(events, None)
        except yaml.YAMLError:
            return 0
        if event is None:
            return count
        count += isinstance(event, yaml.NodeEvent)
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if count > MAX_NODES or depth > MAX_NESTING + 1:
            problem = TOO_MANY if count > MAX_NODES else TOO_DEEP
            raise yaml.MarkedYAMLError(problem=problem, problem_mark=_plain(event.start_mark))


def _plain(mark: Any) -> yaml.Mark | None:
    """libyaml's mark as the one that errors carry."""
    if mark is None:
        return None
    return yaml.Mark(mark.name, mark.index, mark.line, mark.column, None, 0)
