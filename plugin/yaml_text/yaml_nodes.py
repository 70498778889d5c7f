"""The nodes of a YAML text: counted before they are made, with the places of aliases kept."""

from typing import TYPE_CHECKING, Any

import yaml
from yaml.composer import Composer

MAX_NODES = 50_000
MAX_NESTING = 100
#: Characters of a text that cannot have too many values: it is read without counting them first.
SHORT = 4_000
#: Characters in front of a mistake up to which the scanner written in Python explains it.
MAX_EXPLAINED = 40_000
TOO_MANY = f"has more than {MAX_NODES} values"
TOO_DEEP = f"nested more than {MAX_NESTING} deep"
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


class _Nodes(Composer):
    """Composes as the safe loader does, but keeps the places of aliases and limits the size."""

    _composed = 0
    _depth = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        loader: Any = self
        self._composed += 1
        if self._composed > MAX_NODES or self._depth > MAX_NESTING:
            problem = TOO_MANY if self._composed > MAX_NODES else TOO_DEEP
            raise yaml.MarkedYAMLError(problem=problem, problem_mark=loader.peek_event().start_mark)
        if loader.check_event(yaml.AliasEvent):
            event = loader.peek_event()
            return AliasNode(super().compose_node(parent, index), event)
        self._depth += 1
        node = super().compose_node(parent, index)
        self._depth -= 1
        return node


class _PythonLoader(_Nodes, yaml.SafeLoader):
    """With the scanner written in Python, which explains mistakes best."""


class _Loader(_Nodes, _Scanner):
    """With the fastest scanner there is."""

    def __init__(self, text: str) -> None:
        _Scanner.__init__(self, text)
        _Nodes.__init__(self)
        self._text = text

    def compose_mapping_node(self, anchor: Any) -> Any:
        node: Any = super().compose_mapping_node(anchor)
        for key, value in node.value if node.flow_style else ():
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
