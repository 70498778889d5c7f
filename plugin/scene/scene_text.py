"""SceneText: the text a scene was read from, its data, and the text to save."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from mjrig.errors import PropertyError, SceneError
from mjrig.yaml_text.comparison import as_written, same
from mjrig.yaml_text.formatting import format_block
from mjrig.yaml_text.item_trees import UNKNOWN, ItemTree
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
        items: the list items of the meaning.
        origin: the text as it was read, before variables changed; None: this is it.
        saved: the text of the file, if it was saved since it was read; errors are located in it.
            Edits are still written into the text that was read: it has the lines and comments of
            items that were removed before the save, which undo brings back.
    """

    def __init__(
        self,
        document: Document,
        resolved: Resolved,
        meaning: Mapping[str, Any] | None = None,
        items: ItemTree = UNKNOWN,
        origin: "SceneText | None" = None,
        saved: "SceneText | None" = None,
    ) -> None:
        self.document, self.resolved = document, resolved
        self._meaning = resolved.data if meaning is None else meaning
        self._items = items
        self._origin = self if origin is None else origin
        self._saved = saved
        #: The items that have lines in the text.
        self.tokens = self._origin._items.all_tokens()

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
        if self._saved is not None:
            return self._saved.error(path, message, at=at, about_key=about_key)
        whole = self.resolved.path_as_written((*path, *at))
        return self.document.error(
            whole[: len(path)], message, at=whole[len(path) :], about_key=about_key
        )

    def understood_as(self, data: Mapping[str, Any], items: ItemTree) -> "SceneText":
        """The text just read, of which the scene made `data`."""
        return SceneText(self.document, self.resolved, data, items)

    def saved_as(
        self, text: str, file: str, data: Mapping[str, Any], items: ItemTree
    ) -> "SceneText":
        """The same text, after it was updated to `data` and written to a file.

        Raises:
            SceneError: the text that was written is not a scene.
        """
        saved = SceneText.read(text, file, self.resolved.overrides).understood_as(data, items)
        origin = None if self._origin is self else self._origin
        return SceneText(self.document, self.resolved, self._meaning, self._items, origin, saved)

    def says(self, data: Mapping[str, Any], path: Keys) -> bool:
        """Whether the text still agrees with `data` at a path."""
        if self._saved is not None:
            return self._saved.says(data, path)
        now: Any = data
        then: Any = self._meaning
        for key in path:
            try:
                now, then = now[key], then[key]
            except (KeyError, IndexError, TypeError):
                return True  # nothing to compare: the nearest place that exists is right
        return same(now, then)

    def reinterpreted_as(self, data: Mapping[str, Any], items: ItemTree) -> "SceneText":
        """The same text with other variables, of which the scene made `data`."""
        return SceneText(self.document, self.resolved, data, items, self._origin, self._saved)

    def with_variables(self, data: Mapping[str, Any], items: ItemTree) -> "SceneText":
        """The text as it is after edits and other variables, both of which are in `data`.

        Raises:
            PropertyError: a variable does not exist any more or refers to itself.
        """
        data = as_written(data, self._meaning, self.data, items, self._items)
        before, after = self.resolved.template.get("vars") or {}, data.get("vars") or {}
        changed = {n for n in after if n not in before or not same(before[n], after[n])}
        overrides = {
            n: v for n, v in self.resolved.overrides.items() if n in after and n not in changed
        }
        template = self.resolved.template_for(data, items, self._items)
        resolved = Resolved(template, overrides)
        return SceneText(self.document, resolved, None, items, self._origin, self._saved)

    def updated(self, data: Mapping[str, Any], items: ItemTree) -> str:
        """The text with the smallest change that makes it mean `data`.

        Args:
            data: of the scene.
            items: its list items; those of the text keep their lines and comments.

        Raises:
            SceneError: that cannot be done in this text.
        """
        origin = self._origin
        data = as_written(data, self._meaning, self.data, items, self._items)
        if self is not origin:  # items that were removed when variables changed may be back
            data = as_written(data, origin._meaning, origin.data, items, origin._items)
        template = next((t for t in self._templates(data, items) if self._means(t, data)), None)
        if template is None:  # its variables were removed: everything is written out
            template = literal(data)
        return updated_text(self.document, template, items, origin._items)

    def _templates(self, data: Mapping[str, Any], items: ItemTree) -> Iterator[Mapping[str, Any]]:
        """Templates that may resolve to `data`, the one most like the document first."""
        origin, written = self._origin, self.document.data
        if "vars" in data:
            try:
                resolved = Resolved({**written, "vars": data["vars"]}, self.resolved.overrides)
            except PropertyError:
                pass
            else:
                yield resolved.template_for(data, items, origin._items)
        yield self.resolved.template_for(data, items, self._items)

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
