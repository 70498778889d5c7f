"""One widget per kind of property, chosen by its class; any other kind is edited as YAML text."""

import math
from typing import Any

import numpy as np
from imgui_bundle import imgui

from mjrig.core.properties.collection_kinds import Numbers, Vector
from mjrig.core.properties.declaration import Bounds, Property, number
from mjrig.core.properties.scalar_kinds import (
    Bool,
    Choice,
    FilePath,
    Float,
    Int,
    OptionalFloat,
    Patterns,
    Text,
)
from mjrig.core.scene.actuator import Limited
from mjrig.core.scene.mujoco_options import ModelOption
from mjrig.editor.inspector.fields import Field
from mjrig.editor.inspector.number_widgets import (
    ANY,
    Scale,
    components,
    float_value,
    int_value,
    optional_value,
    real,
    settle,
    tidy,
    vector_value,
    whole,
)
from mjrig.editor.inspector.text_widgets import (
    KEYFRAME,
    bool_value,
    checkbox,
    choice_value,
    combo,
    keyframe_value,
    limited_value,
    path_value,
    patterns_value,
    text_value,
    yaml_value,
)
from mjrig.editor.inspector.widget_context import MIXED, Sheet, Widget
from mjrig.editor.text import tr
from mjrig.editor.ui.colours import GREY

_WIDGETS: dict[type[Property[Any]], Widget] = {}


def register(kind: type[Property[Any]], widget: Widget) -> None:
    """Give a property class, and those derived from it, a widget."""
    _WIDGETS[kind] = widget


def widget_for(prop: Property[Any]) -> Widget:
    """The widget of a property; what it refers to or the nearest class that has one decides."""
    if prop.refers == (KEYFRAME,) and isinstance(prop, Text):
        return keyframe_value
    return next((_WIDGETS[c] for c in type(prop).__mro__ if c in _WIDGETS), yaml_value)


# Options of the simulation ----------------------------------------------------------------------


def numbers_value(field: Field, sheet: Sheet) -> None:
    """One number, or several as a list."""
    if all(number(data) is not None for data in field.data()):
        float_value(field, sheet)
    else:
        yaml_value(field, sheet)


def option_value(field: Field, sheet: Sheet) -> None:
    """A field of MuJoCo's options: from the model, or set."""
    prop: Any = field.prop
    is_set = field.is_authored
    changed, on = checkbox("##on", is_set, field.is_mixed)
    imgui.set_item_tooltip(tr("Off: value from the model"))
    in_model = sheet.options(prop.name)
    if changed:
        field.set_all(_first_option(prop, in_model)) if on else field.reset()
    imgui.same_line()
    if not is_set:
        imgui.text_colored(
            GREY, tr("from the model") if in_model is None else _option_text(in_model)
        )
        imgui.set_item_tooltip(tr("Value from the model"))
        return
    _set_option(field, prop, sheet)


def _first_option(prop: Any, in_model: Any) -> Any:
    if in_model is not None:
        return in_model
    like = prop.like.tolist() if isinstance(prop.like, np.ndarray) else prop.like
    return prop.choices[0] if prop.choices else like


def _option_text(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(f"{v:g}" for v in value)
    return f"{value:g}" if isinstance(value, float) else str(value)


def _set_option(field: Field, prop: Any, sheet: Sheet) -> None:
    data = field.data()
    if prop.choices:
        words = {True: prop.choices[0], False: prop.choices[-1]}
        shown = words.get(data[0], data[0]) if isinstance(data[0], bool) else data[0]
        new = combo("##v", MIXED if field.is_mixed else str(shown), list(prop.choices))
        if new is not None:
            field.set_all(new)
    elif isinstance(prop.like, np.ndarray):
        components(field, [list(d) for d in data], Scale(ANY))
    elif isinstance(prop.like, int):
        changed, value = whole("##v", int(data[0]), Bounds("", 0, 2**31 - 1, None, None))
        if changed:
            field.set_all(value, dragging=True)
        settle(field)
    else:
        bounds = Bounds("", 0.0, math.inf, None, None) if prop.like >= 0 else ANY
        changed, real_value = real("##v", number(data[0]) or 0.0, Scale(bounds, 1.0, prop.like))
        if changed:
            field.set_all(tidy(real_value, data[0]), dragging=True)
        settle(field)


register(Bool, bool_value)
register(Limited, limited_value)
register(Int, int_value)
register(Float, float_value)
register(OptionalFloat, optional_value)
register(Text, text_value)
register(Patterns, patterns_value)
register(Choice, choice_value)
register(FilePath, path_value)
register(Vector, vector_value)
register(Numbers, numbers_value)
register(ModelOption, option_value)
