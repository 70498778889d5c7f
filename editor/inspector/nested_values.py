"""Nested components and lists of them: their row, and changes of items."""

from collections.abc import Sequence
from typing import Any

from imgui_bundle import imgui

from mjrig.editor.inspector.fields import Field
from mjrig.editor.inspector.sheet import MIXED
from mjrig.editor.inspector.text_widgets import combo
from mjrig.editor.texts.texts import tr
from mjrig.editor.ui.colours import GREY
from mjrig.properties import registry
from mjrig.properties.has_properties import HasProperties
from mjrig.properties.nested_kinds import Nested, NestedList

NONE = "none"


def nested_value(row: Field) -> None:
    """The type of a nested component, or whether there is one."""
    prop = row.prop
    assert isinstance(prop, Nested)
    kinds = {_type_name(vars(t.obj)[prop.name]) for t in row.targets}
    shown = kinds.pop() if len(kinds) == 1 else MIXED
    if prop.polymorphic:
        chosen = combo("##type", shown, lambda: [NONE, *registry.names(prop.base)])
        if chosen is not None and chosen != shown:
            row.change_each(lambda data: _retyped(data, chosen, prop.base))
    else:
        _add_or_remove(row, shown)


def _add_or_remove(row: Field, shown: str) -> None:
    if shown in (NONE, MIXED) and imgui.button(tr("Add##add")):
        row.change_each(lambda data: {} if data is None else data)
    if shown == MIXED:
        imgui.same_line()
    if shown != NONE and imgui.button(tr("Remove##remove")):
        row.reset()


def list_value(row: Field) -> None:
    """How many items a list has, and a button that adds one."""
    prop = row.prop
    assert isinstance(prop, NestedList)
    counts = {len(vars(t.obj)[prop.name]) for t in row.targets}
    if imgui.button("+##add"):
        if prop.polymorphic:
            imgui.open_popup("types")
        else:
            row.change_each(lambda items: [*items, _fresh(prop.base, items)])
    imgui.set_item_tooltip(tr("Add one"))
    imgui.same_line()
    count = counts.pop() if len(counts) == 1 else None
    text = tr("1 item") if count == 1 else tr("{count} items", count=count)
    imgui.text_colored(GREY, MIXED if count is None else text)
    if imgui.begin_popup("types"):
        for name in registry.names(prop.base):
            if imgui.menu_item_simple(name):
                row.change_each(lambda items, name=name: [*items, {"type": name}])  # type: ignore[misc]
        imgui.end_popup()


def _type_name(part: HasProperties | None) -> str:
    return NONE if part is None else type(part).__name__


def _retyped(data: Any, name: str, base: type[HasProperties]) -> Any:
    """Another type with what both have in common."""
    if name == NONE:
        return None
    known = {prop.name for prop in registry.get(name, base).properties()}
    return {"type": name, **{k: v for k, v in (data or {}).items() if k in known}}


def _fresh(cls: type[HasProperties], items: Sequence[Any]) -> dict[str, object]:
    """A new item; with a unique name where it has one."""
    if all(prop.name != "name" for prop in cls.properties()):
        return {}
    taken = {item.get("name") for item in items if isinstance(item, dict)}
    stem = cls.__name__.lower()
    numbered = (f"{stem}_{i}" for i in range(1, len(items) + 2))
    return {"name": next(name for name in numbered if name not in taken)}


def moved(items: Sequence[Any], start: int, end: int) -> list[Any]:
    """A list with one item at another place."""
    rest = [*items[:start], *items[start + 1 :]]
    return [*rest[:end], items[start], *rest[end:]]


def item_label(obj: HasProperties, index: int) -> str:
    """What an item of a list is called."""
    name = vars(obj).get("name")
    return f"[{index}] {name if isinstance(name, str) and name else type(obj).__name__}"
