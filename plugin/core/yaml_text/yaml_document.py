"""YAML documents: values with their places in the text, and `${variables}` resolved."""

import re
from collections.abc import Callable, Hashable, Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import yaml
from yaml.composer import ComposerError
from yaml.constructor import SafeConstructor

from mjrig.core.errors import PropertyError, SceneError
from mjrig.core.files.paths import shortened
from mjrig.core.names import suggestion
from mjrig.core.yaml_text.comparison import UNKNOWN, ItemTree, matched, same

# Yaml nodes ---------------------------------------------------------------------------------------
# The nodes of a YAML text: counted before they are made, with the places of aliases kept.


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
    loader: Any = _Loader(text)
    try:
        return loader.get_single_node(), loader._composed
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        if mark is None or mark.index > MAX_EXPLAINED:
            raise
    finally:
        loader.dispose()
    loader = _PythonLoader(text)
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


# Yaml document ------------------------------------------------------------------------------------
# A YAML text with the place of every value: safe, strict, and ready to be edited in place.


MAX_CHARACTERS = 4_000_000
MAX_DIGITS = 300
#: Longest problem in a message [characters]: keys and values of a file may be of any length.
MAX_PROBLEM = 2000
BYTE_ORDER_MARK = "\ufeff"
_TAGS = tuple(
    f"tag:yaml.org,2002:{name}" for name in ("map", "seq", "str", "int", "float", "bool", "null")
)
_VARIABLE_HINT = '; between brackets a variable needs quotes: "${name}"'
_DECIMAL = re.compile(r"[-+]?(0|[1-9][0-9_]*)")
_FLOAT = re.compile(r"[-+]?[0-9][0-9_]*(\.[0-9_]*)?([eE][-+]?[0-9]+)?")

Keys = tuple[Hashable, ...]


@dataclass(frozen=True)
class TextPlace:
    """Position of a value: line and column (from 1) of its key and of itself."""

    key: tuple[int, int]
    value: tuple[int, int]


class Document:
    """A parsed text: `data` in plain Python, `root` as nodes with marks.

    Args:
        text: YAML.
        file: its name in messages.
        take: gets the number of values, of long texts before they are read, and may refuse them.
    """

    def __init__(
        self, text: str, file: str, take: Callable[[int], None] = lambda count: None
    ) -> None:
        #: A byte order mark in front of the text, which some editors write; no place counts it.
        self.mark = BYTE_ORDER_MARK if text.startswith(BYTE_ORDER_MARK) else ""
        self.text = text = text.removeprefix(self.mark)
        self.file = file
        self.places: dict[Keys, TextPlace] = {}
        self._visited = 0
        self._within: list[Any] = []  # the alias targets being read, outermost first
        if len(text) > MAX_CHARACTERS:
            raise SceneError(
                f"{file}:1:1: has {len(text)} characters; at most {MAX_CHARACTERS} are read"
            )
        try:
            yaml.reader.Reader(text)  # refuses control characters
            if len(text) > SHORT:
                take(counted(text))
            self.root: Any
            self.root, count = composed(text)
            if len(text) <= SHORT:
                take(count)
            self.data: Any = None if self.root is None else self._plain(self.root, (), (1, 1))
        except yaml.MarkedYAMLError as error:
            hint = _VARIABLE_HINT if _at_variable(error, text) else ""
            raise SceneError(f"{file}:{_where(error)}: {_reason(error)}{hint}") from error
        except yaml.reader.ReaderError as error:
            line, column = _line_and_column(text, error.position)
            code = f"#x{error.character:04x}"
            raise SceneError(f"{file}:{line}:{column}: not text: character {code}") from error
        except RecursionError as error:
            raise SceneError(f"{file}:1:1: nested too deeply") from error

    def place(self, path: Keys) -> tuple[TextPlace, bool]:
        """The place of a path, or of the nearest ancestor that is in the text, and which it is."""
        for length in range(len(path), -1, -1):
            if path[:length] in self.places:
                return self.places[path[:length]], length == len(path)
        return TextPlace((1, 1), (1, 1)), False

    def error(
        self, path: Keys, message: str, *, at: Keys = (), about_key: bool = False
    ) -> SceneError:
        """A SceneError with its place: `file:line:column: path: message`."""
        place, exact = self.place((*path, *at))
        line, column = place.key if about_key and exact else place.value
        return self._error_at(line, column, path, message)

    def value_of(self, node: Any) -> Any:
        """The data of any node of this document."""
        before = self.places, self._visited
        self.places, self._visited = {}, 0
        try:
            return self._plain(node, (), (1, 1))
        finally:
            self.places, self._visited = before

    # Nodes to plain data ------------------------------------------------------------------------

    def _plain(self, node: Any, path: Keys, key: tuple[int, int]) -> Any:
        if isinstance(node, AliasNode):
            return self._aliased(node, path, key)
        self._admit(node, path, key)
        if isinstance(node, yaml.ScalarNode):
            return self._scalar(node, path)
        if isinstance(node, yaml.SequenceNode):
            return [
                self._plain(item, (*path, i), _mark(item.start_mark))
                for i, item in enumerate(node.value)
            ]
        data: dict[str, Any] = {}
        merged: dict[str, Any] = {}
        for key_node, value_node in node.value:
            if key_node.tag == "tag:yaml.org,2002:merge":
                merged |= self._merged(key_node, value_node, path)
            else:
                name = self._name(key_node, path, data)
                data[name] = self._plain(value_node, (*path, name), _mark(key_node.start_mark))
        return {**merged, **data}

    def _admit(self, node: Any, path: Keys, key: tuple[int, int]) -> None:
        """Note the place of a node, and refuse what no scene file may have."""
        if len(path) > MAX_NESTING:  # through aliases
            raise self._fail(node, path, TOO_DEEP)
        self._visited += 1
        if self._visited > MAX_NODES:  # nested aliases can grow exponentially
            raise self._fail(node, path, TOO_MANY)
        self.places[path] = TextPlace(key, _mark(node.start_mark))
        if node.tag not in _TAGS and node.tag != "tag:yaml.org,2002:timestamp":
            tag = node.tag.replace("tag:yaml.org,2002:", "!!")
            raise self._fail(node, path, f"the tag {tag} is not allowed; write plain YAML")

    def _aliased(self, node: AliasNode, path: Keys, key: tuple[int, int]) -> Any:
        if any(node.target is outer for outer in self._within):
            raise self._fail(node, path, "the alias is inside the value it refers to")
        self._within.append(node.target)
        value = self._plain(node.target, path, key)
        self._within.pop()
        return value

    def _merged(self, key_node: Any, value_node: Any, path: Keys) -> dict[str, Any]:
        """What `<<` adds to a mapping."""
        merged: dict[str, Any] = {}
        values = self._plain(value_node, (*path, "<<"), _mark(key_node.start_mark))
        for part in reversed(values if isinstance(values, list) else [values]):
            if not isinstance(part, dict):
                raise self._fail(value_node, path, "<< needs a mapping")
            merged |= part
        return merged

    def _name(self, node: Any, path: Keys, data: Mapping[str, Any]) -> str:
        """A key of a mapping that has these already."""
        if not isinstance(node, yaml.ScalarNode):
            raise self._fail(node, path, "a key must be text")
        if node.tag not in _TAGS:
            self._plain(node, path, _mark(node.start_mark))  # refuses the tag
        name: str = node.value
        if name in data:
            line, column = self.places[(*path, name)].key
            raise self._fail(node, path, f"duplicate key {name!r}; first at {line}:{column}")
        return name

    def _scalar(self, node: Any, path: Keys) -> Any:
        text = node.value
        kind = node.tag.rpartition(":")[2]
        if kind in ("str", "timestamp"):
            return text
        if kind == "int" and not _DECIMAL.fullmatch(text):
            raise self._fail(node, path, f"{text} is not a decimal number; write it as one")
        if kind == "float" and ":" in text:
            raise self._fail(node, path, f"{text} is not a decimal number; write it as one")
        if kind == "int" and len(text) > MAX_DIGITS:
            raise self._fail(node, path, f"has {len(text)} digits; at most {MAX_DIGITS} are read")
        if kind == "float" and _FLOAT.fullmatch(text):  # most values of a long text are such
            return float(text.replace("_", ""))
        try:
            return SafeConstructor().construct_object(node, deep=True)
        except (yaml.YAMLError, ValueError, KeyError) as error:  # only an explicit tag gets here
            raise self._fail(node, path, f"{text!r} does not fit its tag !!{kind}") from error

    def _fail(self, node: Any, path: Keys, message: str) -> SceneError:
        return self._error_at(*_mark(node.start_mark), path, message)

    def _error_at(self, line: int, column: int, path: Keys, message: str) -> SceneError:
        where = f"{format_path(path)}: " if path else ""
        problem = shortened(f"{where}{message}", MAX_PROBLEM)
        return SceneError(f"{self.file}:{line}:{column}: {problem}")


def format_path(path: Keys) -> str:
    """`actors[0].components[1].kp`."""
    text = ""
    for key in path:
        text += f"[{key}]" if isinstance(key, int) else f".{key}" if text else str(key)
    return text


def parse_value(text: str) -> Any:
    """A value written on a command line, read as a scene file would.

    Raises:
        SceneError: it is not YAML.
    """
    return Document(text, "value").data


def _mark(mark: Any) -> tuple[int, int]:
    return mark.line + 1, mark.column + 1


def _where(error: yaml.MarkedYAMLError) -> str:
    mark = error.problem_mark or error.context_mark
    return f"{mark.line + 1}:{mark.column + 1}" if mark else "1:1"


def _at_variable(error: yaml.MarkedYAMLError, text: str) -> bool:
    """Whether the parser failed at the bracket of `${name}`, which has a meaning in YAML."""
    mark = error.problem_mark
    return mark is not None and text[max(mark.index - 1, 0) : mark.index + 1] == "${"


def _line_and_column(text: str, position: int) -> tuple[int, int]:
    before = text[:position]
    return before.count("\n") + 1, position - before.rfind("\n")


def _reason(error: yaml.MarkedYAMLError) -> str:
    problem = error.problem or ""
    if problem in (TOO_MANY, TOO_DEEP):
        return problem
    parts = [p for p in (problem, error.context) if p]
    return "not valid YAML: " + ", ".join(parts)


# Variables ---------------------------------------------------------------------------------------
# Variables of a scene file: `vars: {kp: 40}` at the top, `${kp}` in place of any value.
#
# A value that is exactly `${name}` becomes the variable's value, whatever its type; inside a longer
# text the value is substituted as text. `$${` is an escaped `${`.


MAX_DEPTH = 50
_MARK = re.compile(r"\$\$\{|\$\{([^{}]*)\}|\$\{")
_ALONE = re.compile(r"\$\{([^{}]*)\}")
#: Characters of text that count as one value.
_CHARACTERS = 80


class Resolved:
    """The data of a scene file with its variables substituted.

    Args:
        template: the data as written.
        overrides: values that override those of the file; they are taken as they are.

    Raises:
        PropertyError: a variable does not exist or refers to itself; `keys` lead to the place.
    """

    def __init__(self, template: Mapping[str, Any], overrides: Mapping[str, Any]) -> None:
        self.template, self.overrides = template, overrides
        self._written = template.get("vars") or {}
        self._values: dict[str, Any] = dict(overrides)
        self._open: list[str] = []  # variables being resolved, outermost first
        self._weight = 0
        #: Path → the key as written, where it contains a variable.
        self._written_keys: dict[Keys, str] = {}
        if not isinstance(self._written, Mapping):
            raise PropertyError(f"scene.vars: must be a mapping, got {self._written!r}", ("vars",))
        for name in overrides:
            if name not in self._written:
                hint = suggestion(name, self._written)
                raise PropertyError(
                    f"the scene has no variable {name!r}; {hint}",
                    ("vars",),
                    at=(name,),
                    about_key=True,
                )
        for name in self._written:
            self._value(name, ("vars", name))
        #: The data of the file, variables substituted; `vars` itself stays as written.
        self.data: dict[str, Any] = {
            key: value if key == "vars" else self._resolve(value, (key,), (key,))
            for key, value in template.items()
        }

    @property
    def variables(self) -> dict[str, Any]:
        """The value of every variable."""
        return {name: deepcopy(self._values[name]) for name in self._written}

    def path_as_written(self, path: Keys) -> Keys:
        """A path into the data as the path into the text."""
        ends = range(1, len(path) + 1)
        return tuple(self._written_keys.get(path[:end], path[end - 1]) for end in ends)

    def template_for(
        self,
        data: Mapping[str, Any],
        items: ItemTree = UNKNOWN,
        items_before: ItemTree = UNKNOWN,
    ) -> dict[str, Any]:
        """The template that resolves to `data`: as written where unchanged, literal elsewhere.

        Args:
            data: of the scene.
            items: its list items.
            items_before: those of this data.
        """
        template, before = without_vars(self.template), without_vars(self.data)
        result: dict[str, Any] = _kept(template, before, without_vars(data), items, items_before)
        if "vars" in data:
            result["vars"] = data["vars"]
        return result

    # Substitution -------------------------------------------------------------------------------

    def _resolve(self, raw: Any, path: Keys, written: Keys) -> Any:
        """A value with its variables substituted; `written` is its path in the text."""
        if isinstance(raw, str):
            return self._text(raw, written)
        if isinstance(raw, int | float):  # the most frequent; Mapping takes long to look for
            return raw
        if isinstance(raw, list):
            return [self._resolve(v, (*path, i), (*written, i)) for i, v in enumerate(raw)]
        if not isinstance(raw, Mapping):
            return raw
        made: dict[str, Any] = {}
        for key, value in raw.items():
            name = self._key(key, (*written, key))
            if name in made:
                raise PropertyError(
                    f"duplicate key {name!r} after substituting variables",
                    (*written, key),
                    about_key=True,
                )
            if name != key:
                self._written_keys[(*path, name)] = key
            made[name] = self._resolve(value, (*path, name), (*written, key))
        return made

    def _key(self, key: str, written: Keys) -> str:
        if "${" not in key:
            return key
        try:
            return _MARK.sub(lambda mark: self._inserted(mark, written), key)
        except PropertyError as error:
            raise PropertyError(str(error), error.keys, about_key=True) from None

    def _text(self, raw: str, written: Keys) -> Any:
        if "${" not in raw:
            return raw
        alone = _ALONE.fullmatch(raw)
        if alone:
            value = self._value(alone[1], written)
            self._charge(_weight(value), written)
            if len(written) + _depth(value) > MAX_NESTING:
                raise PropertyError(f"the variables nest more than {MAX_NESTING} deep", written)
            return deepcopy(value)
        return _MARK.sub(lambda mark: self._inserted(mark, written), raw)

    def _inserted(self, mark: re.Match[str], written: Keys) -> str:
        if mark[0] == "$${":
            return "${"
        if mark[1] is None:
            raise PropertyError("'${' has no '}'; write '$${' for a plain '${'", written)
        value = self._value(mark[1], written)
        if value is None or isinstance(value, Mapping | list):
            what = (
                "empty" if value is None else "a list" if isinstance(value, list) else "a mapping"
            )
            raise PropertyError(
                f"the variable {mark[1]!r} is {what}; it cannot be part of a longer text", written
            )
        text = _as_text(value)
        self._charge(1 + len(text) // _CHARACTERS, written)
        return text

    def _value(self, name: str, written: Keys) -> Any:
        if name in self._values:
            return self._values[name]
        if name not in self._written:
            hint = suggestion(name, self._written)
            raise PropertyError(f"there is no variable {name!r}; {hint}", written)
        if name in self._open:
            chain = " → ".join([*self._open[self._open.index(name) :], name])
            raise PropertyError(f"the variable {name!r} refers to itself: {chain}", written)
        if len(self._open) > MAX_DEPTH:
            raise PropertyError(f"variables are nested more than {MAX_DEPTH} deep", written)
        self._open.append(name)
        path = ("vars", name)
        self._values[name] = self._resolve(self._written[name], path, path)
        self._open.pop()
        return self._values[name]

    def _charge(self, weight: int, written: Keys) -> None:
        """Nested variables can grow exponentially; nothing is copied beyond the limit."""
        self._weight += weight
        if self._weight > MAX_NODES:
            raise PropertyError(f"the variables expand to more than {MAX_NODES} values", written)


def escaped(data: Any) -> Any:
    """Plain data escaped for a file with variables: `${` becomes `$${`."""
    if isinstance(data, str):
        return data.replace("${", "$${")
    if isinstance(data, list | tuple):
        return [escaped(item) for item in data]
    if isinstance(data, Mapping):
        return {escaped(key): escaped(value) for key, value in data.items()}
    return data


def without_vars(data: Mapping[str, Any]) -> dict[str, Any]:
    """The data of a scene without its variables."""
    return {key: value for key, value in data.items() if key != "vars"}


def _kept(raw: Any, resolved: Any, new: Any, items: ItemTree, items_before: ItemTree) -> Any:
    """`raw`, which resolves to `resolved`, minimally changed so that it resolves to `new`."""
    if same(resolved, new):
        return raw
    if isinstance(raw, Mapping) and isinstance(new, Mapping):
        written = dict(zip(resolved, raw, strict=True))
        return {
            written.get(k, escaped(k)): (
                _kept(raw[written[k]], resolved[k], v, items.at(k), items_before.at(k))
                if k in written
                else escaped(v)
            )
            for k, v in new.items()
        }
    if isinstance(raw, list) and isinstance(new, list | tuple):
        pairs, _ = matched(resolved, list(new), items_before, items)
        before = {j: i for i, j in pairs.items()}
        return [
            _kept(raw[before[j]], resolved[before[j]], v, items.at(j), items_before.at(before[j]))
            if j in before
            else escaped(v)
            for j, v in enumerate(new)
        ]
    return escaped(new)


def _weight(value: Any) -> int:
    if isinstance(value, Mapping):
        return 1 + sum(_weight(k) + _weight(v) for k, v in value.items())
    if isinstance(value, list):
        return 1 + sum(map(_weight, value))
    return 1 + (len(value) // _CHARACTERS if isinstance(value, str) else 0)


def _depth(value: Any) -> int:
    if isinstance(value, Mapping):
        value = list(value.values())
    return 1 + max(map(_depth, value), default=0) if isinstance(value, list) else 0


def _as_text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
