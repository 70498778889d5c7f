"""Fields of a form, generated from the options of a command: label, range, unit and tooltip."""

from typing import Any

from imgui_bundle import imgui

from mjrig.cli.command_options import (
    Flag,
    FloatOption,
    IntOption,
    OneOf,
    Option,
    OptionalFloatOption,
    Options,
)
from mjrig.editor.text import tr
from mjrig.editor.ui.layout import px
from mjrig.editor.ui.number_cell import number_cell, whole_number_cell

#: Beyond it a drag would not be exact.
_LARGEST = 1e9


def option_fields(options: Options, *names: str, width: float = 110) -> None:
    """Draw a field for each of some options, and assign what is entered.

    Args:
        options: an instance; its class declares the fields.
        names: the options, in this order.
        width: of a field [px at normal scale].
    """
    for name in names:
        option: Any = options.property_named(name)
        value = getattr(options, name)
        imgui.set_next_item_width(px(width))
        changed, value = _field(option, tr(option.label or name.replace("_", " ")), value)
        imgui.set_item_tooltip(tr(option.doc))
        if changed:
            options.assign({name: value})


def _field(option: Option[Any], label: str, value: Any) -> tuple[bool, Any]:
    """One field; returns whether it changed, and its value."""
    if isinstance(option, Flag):
        return imgui.checkbox(label, value)
    if isinstance(option, OneOf):
        return _choice(option, label, value)
    if isinstance(option, OptionalFloatOption):
        return _optional(option, label, value)
    if isinstance(option, FloatOption):
        return _number(option, label, value)
    if isinstance(option, IntOption):
        low, high = _range(option)
        return whole_number_cell(label, value, 0.1, int(low), int(high), clamps=True)
    return imgui.input_text_with_hint(label, option.form, value)


def _number(option: Any, label: str, value: float) -> tuple[bool, float]:
    low, high = _range(option)
    fmt = f"%.3g {tr(option.unit)}".rstrip()
    return number_cell(label, value, 0.01 * max(abs(value), 0.5), low, high, fmt=fmt, clamps=True)


def _range(option: Any) -> tuple[float, float]:
    bounds = option.bounds
    return max(bounds.soft_low, -_LARGEST), min(bounds.soft_high, _LARGEST)


def _optional(
    option: OptionalFloatOption, label: str, value: float | None
) -> tuple[bool, float | None]:
    """A box that switches the number on."""
    changed, is_on = imgui.checkbox(label, value is not None)
    if changed:
        return True, option.initial if is_on else None
    if value is None:
        return False, None
    imgui.set_next_item_width(px(110))
    return _number(option, f"##{option.name}", value)


def _choice(option: OneOf, label: str, value: Any) -> tuple[bool, Any]:
    before = value
    if imgui.begin_combo(label, value):
        for choice in option.choices:
            if imgui.selectable(choice, choice == value)[0]:
                value = choice
        imgui.end_combo()
    return value != before, value
