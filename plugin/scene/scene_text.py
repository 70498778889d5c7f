"""SceneText: the text a scene was read from, its data, and the text to save."""

from collections.abc import Callable, Mapping
from typing import Any

from mjrig.errors import PropertyError, SceneError
from mjrig.yaml_text.comparison import as_written, same
from mjrig.yaml_text.formatting import format_block
from mjrig.yaml_text.variables import Resolved, escaped
from mjrig.yaml_text.yaml_document import Document, Keys
from mjrig.yaml_text.yaml_edit import updated_text

FORMAT = 1


class SceneText:
    """A document with its variables substituted; immutable.

    Args:
        document: the text.
        resolved: its data with the edits that were made when variables changed.
        meaning: the data as the scene understood it; None: word for word.
    """

    def __init__(
        self, document: Document, resolved: Resolved, meaning: Mapping[str, Any] | None = None
    ) -> None:
        self.document, self.resolved = document, resolved
        self._meaning = resolved.data if meaning is None else meaning

    @classmethod
    def read(
        cls,
        text: str,
        file: str,
        overrides: Mapping[str, Any],
        take: Callable[[int], None] = lambda count: None,
    ) -> "SceneText":
        """Parse a text; `take` may refuse the number of its values before they are read.

        Raises:
            SceneError: it is not a scene.
            PropertyError: an override is for a variable it does not have.
        """
        document = Document(text, file, take)
        if not isinstance(document.data, dict):
            raise document.error((), "a scene is a mapping with 'mjrig: 1' and 'actors'")
        if "mjrig" not in document.data:
            raise document.error((), f"the format version is missing; begin with 'mjrig: {FORMAT}'")
        try:
            resolved = Resolved(document.data, {})
        except PropertyError as error:
            raise document.error(
                error.keys, str(error), at=error.at, about_key=error.about_key
            ) from error
        return cls(document, Resolved(document.data, overrides) if overrides else resolved)

    @property
    def data(self) -> dict[str, Any]:
        """The data of the text, variables substituted."""
        return self.resolved.data

    def error(self, path: Keys, message: str, *, at: Keys = (), about_key: bool) -> SceneError:
        """A SceneError at the place of a path."""
        whole = self.resolved.path_as_written((*path, *at))
        return self.document.error(
            whole[: len(path)], message, at=whole[len(path) :], about_key=about_key
        )

    def understood_as(self, data: Mapping[str, Any]) -> "SceneText":
        """The same text, of which the scene made `data`."""
        return SceneText(self.document, self.resolved, data)

    def says(self, data: Mapping[str, Any], path: Keys) -> bool:
        """Whether the text still agrees with `data` at a path."""
        now: Any = data
        then: Any = self._meaning
        for key in path:
            try:
                now, then = now[key], then[key]
            except (KeyError, IndexError, TypeError):
                return True  # nothing to compare: the nearest place that exists is right
        return same(now, then)

    def with_variables(self, data: Mapping[str, Any]) -> "SceneText":
        """The text as it is after edits and other variables, both of which are in `data`.

        Raises:
            PropertyError: a variable does not exist any more or refers to itself.
        """
        data = as_written(data, self._meaning, self.data)
        before, after = self.resolved.template.get("vars") or {}, data.get("vars") or {}
        changed = {n for n in after if n not in before or not same(before[n], after[n])}
        overrides = {
            n: v for n, v in self.resolved.overrides.items() if n in after and n not in changed
        }
        template = self.resolved.template_for(data)
        return SceneText(self.document, Resolved(template, overrides))

    def updated(self, data: Mapping[str, Any]) -> str:
        """The text with the smallest change that makes it mean `data`.

        Raises:
            SceneError: that cannot be done in this text.
        """
        data = as_written(data, self._meaning, self.data)
        template = self.resolved.template_for(data)
        if not self._means(template, data):  # its variables were removed: everything is written out
            template = literal(data)
        return updated_text(self.document, template)

    def _means(self, template: Mapping[str, Any], data: Mapping[str, Any]) -> bool:
        try:
            return same(Resolved(template, self.resolved.overrides).data, data)
        except PropertyError:
            return False


def literal(data: Mapping[str, Any]) -> dict[str, Any]:
    """The data of a scene as a template without variables in it; `vars` itself stays."""
    return {key: value if key == "vars" else escaped(value) for key, value in data.items()}


def new_text(data: Mapping[str, Any]) -> str:
    """The text of a scene that was made in Python."""
    return format_block({"mjrig": FORMAT, **literal(data)}, 0) + "\n"
