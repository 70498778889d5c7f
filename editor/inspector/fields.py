"""Field: one property of the selected objects, as the inspector shows and sets it. No imgui."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np

from mjrig.core.properties.declaration import Property
from mjrig.core.properties.has_properties import HasProperties
from mjrig.core.properties.nested_kinds import Nested, NestedList
from mjrig.core.scene.editing.scene import Scene
from mjrig.core.scene.scene_description import path_of
from mjrig.core.yaml_text.comparison import same
from mjrig.editor.edits.edits import UNSET
from mjrig.editor.session.panel_edits import PanelEdits
from mjrig.editor.text import tr

_PLAIN: tuple[tuple[Any, Callable[[Any], Any]], ...] = (
    (np.ndarray | np.generic, lambda value: value.tolist()),
    (Enum, lambda value: value.value),
    (Path, str),
    (HasProperties, lambda value: value.to_data()),
)


def plain_data(value: Any) -> Any:
    """A property's value as in a scene file."""
    if isinstance(value, Mapping):
        return {key: plain_data(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain_data(item) for item in value]
    return next((made(value) for kind, made in _PLAIN if isinstance(value, kind)), value)


def data_of(obj: HasProperties, prop: Property[Any]) -> Any:
    """What was written for a property, or what its value would be written as."""
    if obj.is_authored(prop.name):
        return obj.authored(prop.name)
    return plain_data(vars(obj)[prop.name])


@dataclass(frozen=True)
class EditedObject:
    """One object that is edited: described by the scene, perhaps running."""

    path: str
    obj: HasProperties
    live: HasProperties | None = None


@dataclass(frozen=True)
class Field:
    """One property of one or several objects of one type."""

    targets: tuple[EditedObject, ...]
    prop: Property[Any]
    edits: PanelEdits

    # What it shows ------------------------------------------------------------------------------

    @property
    def obj(self) -> HasProperties:
        """The first object."""
        return self.targets[0].obj

    @property
    def live(self) -> HasProperties | None:
        """The running counterpart of the first object."""
        return self.targets[0].live

    @property
    def path(self) -> str:
        """Path of the property, of the first object."""
        return f"{self.targets[0].path}.{self.prop.name}"

    @property
    def paths(self) -> tuple[str, ...]:
        """Paths of the property, one per object."""
        return tuple(f"{target.path}.{self.prop.name}" for target in self.targets)

    @property
    def label(self) -> str:
        """What the row is called."""
        return self.prop.label or self.prop.name.replace("_", " ")

    def data(self) -> list[Any]:
        """The value of each object as plain data, including one being dragged."""
        pairs = zip(self.targets, self.paths, strict=True)
        return [self._data(target, path) for target, path in pairs]

    def _data(self, target: EditedObject, path: str) -> Any:
        held = self.edits.held(path)
        if held is not UNSET:
            return held
        if self.prop.read_only and target.live is not None:
            return plain_data(vars(target.live).get(self.prop.name))
        return data_of(target.obj, self.prop)

    @property
    def is_mixed(self) -> bool:
        """Whether the objects differ."""
        first, *others = self.data()
        return any(not same(first, other) for other in others)

    @property
    def is_modified(self) -> bool:
        """Whether any object differs from the default."""
        return any(target.obj.is_modified(self.prop.name) for target in self.targets)

    @property
    def is_authored(self) -> bool:
        """Whether any object has an authored value."""
        return any(target.obj.is_authored(self.prop.name) for target in self.targets)

    def why_not_editable(self) -> str | None:
        """The reason the row is disabled, or None."""
        reasons = (target.obj.why_not_editable(self.prop.name) for target in self.targets)
        return next((reason for reason in reasons if reason), None)

    def describe(self) -> list[tuple[str, str]]:
        """Contents of the tooltip: (title, text)."""
        prop = self.prop
        origin = tr("the scene") if self.is_authored else tr("the default")
        lines = [
            ("", prop.doc),
            ("unit", prop.unit),
            ("range", prop.range_text()),
            ("default", prop.default_text()),
            (tr("value from"), origin),
            ("path", self.path),
            ("", tr("A change rebuilds the world; its state is kept.") if prop.structural else ""),
            ("disabled", self.why_not_editable() or ""),
        ]
        return [(what, text) for what, text in lines if text]

    # How it is set ------------------------------------------------------------------------------

    def set_all(self, value: object, *, dragging: bool = False) -> None:
        """Give all objects one value."""
        self.set_each([value] * len(self.targets), dragging=dragging)

    def set_each(self, values: Sequence[object], *, dragging: bool = False) -> None:
        """Give each object a value; one edit."""
        pairs = dict(zip(self.paths, values, strict=True))
        if dragging:
            self.edits.drag(pairs)
        elif self._is_scene_name() and values[0] != vars(self.obj)["name"]:
            self._rename(str(values[0]))
        else:
            self.edits.put(pairs)

    def change_each(self, change: Callable[[Any], object]) -> None:
        """Give each object what a function makes of its present data; one edit."""
        self.set_each([change(data) for data in self.data()])

    def reset(self) -> None:
        """Return to the default; one edit."""
        self.edits.put(dict.fromkeys(self.paths, UNSET))

    def touch(self) -> None:
        """The widget is held."""
        self.edits.touch(dict.fromkeys(self.paths))

    def end(self) -> None:
        """The widget was released."""
        self.edits.end()

    def _is_scene_name(self) -> bool:
        owner = self.obj.parent
        return self.prop.name == "name" and isinstance(owner, Scene) and len(self.targets) == 1

    def _rename(self, new: str) -> None:
        """References to it elsewhere follow, and so does the selection."""
        old, state = str(vars(self.obj)["name"]), self.edits.state

        def edit(scene: Scene) -> None:
            scene.rename(old, new)
            if self.targets[0].path == old:
                state.selection.follow(old, new)

        self.edits.run(tr("Rename {old} to {new}", old=old, new=new), edit, self.path)


def fields_of(targets: Sequence[EditedObject], edits: PanelEdits) -> list[Field]:
    """The shown properties of objects of one type, in order."""
    props = targets[0].obj.properties()
    return [Field(tuple(targets), prop, edits) for prop in props if prop.shown]


def parts_of(field: Field) -> list[tuple[EditedObject, ...]]:
    """The objects nested in a property, side by side; none where the objects differ in kind."""
    if not isinstance(field.prop, Nested | NestedList):
        return []
    columns: list[list[HasProperties]] = []
    for target in field.targets:
        value = vars(target.obj)[field.prop.name]
        columns.append(list(value) if isinstance(value, tuple) else [value] if value else [])
    kinds = [[type(part) for part in column] for column in columns]
    if any(kind != kinds[0] for kind in kinds):
        return []
    live = field.edits.state.live
    rows = zip(*columns, strict=True)
    return [tuple(EditedObject(path_of(p), p, live(path_of(p))) for p in row) for row in rows]


# Search -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Filter:
    """Which rows are shown."""

    search: str = ""
    modified: bool = False

    @property
    def is_on(self) -> bool:
        """Whether anything is left out."""
        return bool(self.search.strip()) or self.modified

    def shows(self, field: Field) -> bool:
        """Whether a row is shown: itself, or for something nested in it."""
        if self._shows_itself(field):
            return True
        return any(
            self.shows(inner)
            for targets in (parts_of(field) if self.is_on else [])
            for inner in fields_of(targets, field.edits)
        )

    def below(self, field: Field) -> "Filter":
        """The filter for what is nested: all of it where the row itself was searched for."""
        return Filter("", self.modified) if self._matches(field) else self

    def _shows_itself(self, field: Field) -> bool:
        return self._matches(field) and (field.is_modified or not self.modified)

    def _matches(self, field: Field) -> bool:
        prop = field.prop
        texts = (prop.name, field.label, prop.doc, prop.category)
        text = " ".join(texts).lower()
        return all(word in text for word in self.search.lower().split())
