"""Variables of a scene file: `vars: {kp: 40}` at the top, `${kp}` in place of any value.

A value that is exactly `${name}` becomes the variable's value, whatever its type; inside a longer
text the value is substituted as text. `$${` is an escaped `${`.
"""

import re
from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from mjrig.core.errors import PropertyError
from mjrig.core.names import suggestion
from mjrig.core.yaml_text.comparison import UNKNOWN, ItemTree, matched, same
from mjrig.core.yaml_text.yaml_document import MAX_NESTING, MAX_NODES, Keys

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
