"""Widgets for numbers and vectors: cells whose drags give round numbers within the range."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from imgui_bundle import imgui

from mjrig.core.properties.declaration import Bounds, number
from mjrig.editor.inspector.fields import Field
from mjrig.editor.inspector.text_widgets import checkbox, yaml_value
from mjrig.editor.inspector.widget_context import MIXED, Sheet
from mjrig.editor.text import tr
from mjrig.editor.ui import number_validation, scalars
from mjrig.editor.ui.colours import GREY
from mjrig.editor.ui.number_cell import number_cell, whole_number_cell

ANY = Bounds("", -math.inf, math.inf, None, None)


@dataclass(frozen=True)
class Scale:
    """How a number is shown: its range, and degrees for radians."""

    bounds: Bounds
    factor: float = 1.0
    typical: float = 1.0

    @property
    def soft(self) -> tuple[float, float] | None:
        """The slider's ends; None: there is none."""
        ends = self.bounds.soft_low * self.factor, self.bounds.soft_high * self.factor
        return ends if all(map(math.isfinite, ends)) and ends[0] < ends[1] else None

    def speed(self, shown: float) -> float:
        """How much a pixel of a drag changes."""
        if self.soft:
            return (self.soft[1] - self.soft[0]) / 300.0
        size = abs(shown) if math.isfinite(shown) else 0.0
        return max(size, abs(self.typical * self.factor) or 1.0) * 0.01


def scale_of(prop: Any) -> Scale:
    """How the numbers of a property are shown."""
    factor = math.degrees(1.0) if getattr(prop, "display", "") == "deg" else 1.0
    default = number(prop.default) if not isinstance(prop.default, np.ndarray) else None
    usable = default is not None and math.isfinite(default) and default != 0.0
    return Scale(getattr(prop, "bounds", ANY), factor, default if usable else 1.0)  # type: ignore[arg-type]


def real(label: str, value: float, scale: Scale, *, mixed: bool = False) -> tuple[bool, float]:
    """A number cell; where there is a soft range, with a bar that shows it.

    Dragging stops at the hard range and gives round numbers; what is typed is left as it is.
    """
    shown, alt = value * scale.factor, imgui.get_io().key_alt
    speed, ends = scale.speed(shown), scale.soft
    low, high = scale.bounds.low * scale.factor, scale.bounds.high * scale.factor
    if mixed:
        imgui.push_item_flag(imgui.ItemFlags_.mixed_value, True)
    # Alt means "relative" where several are edited: no slower speed then.
    flags = int(imgui.SliderFlags_.no_speed_tweaks) if mixed else 0
    changed, new = number_cell(label, shown, speed, low, high, flags=flags, ends=ends)
    if mixed:
        imgui.pop_item_flag()
    if changed and imgui.is_mouse_down(0):
        digits = scalars.decimals(speed) + (2 if alt or imgui.get_io().key_shift else 1)
        least = low + 10.0**-digits if scale.bounds.above else low
        new = min(max(round(new, digits), least), high)
    return changed, new / scale.factor if scale.factor != 1.0 else new


def tidy(new: float, old: object) -> float | int:
    """A number as it is written: whole where it was whole before."""
    whole = isinstance(old, int) and not isinstance(old, bool)
    return int(new) if whole and math.isfinite(new) and new == int(new) else new


def settle(field: Field) -> None:
    """After a numeric widget: its drag lasts while it is held, and ends on release."""
    if imgui.is_item_active():
        field.touch()
    if imgui.is_item_deactivated():
        field.end()


def _all_values(values: list[float], new: float, scale: Scale) -> list[float]:
    """One value for all; with Alt, all by the same amount, and those at a bound stay there."""
    if len(values) < 2 or not imgui.get_io().key_alt:
        return [new] * len(values)
    bounds, delta = scale.bounds, new - values[0]
    moved = [round(value + delta, 12) for value in values]
    clamped = [min(max(value, bounds.low), bounds.high) for value in moved]
    count = sum(a != b for a, b in zip(moved, clamped, strict=True))
    if count:
        bound = (bounds.low if delta < 0.0 else bounds.high) * scale.factor
        shown = {"count": count, "total": len(values), "bound": bound}
        number_validation.note(tr("{count} of {total} values stop at {bound:g}", **shown))
    return clamped


def set_numbers(field: Field, data: list[Any], new: float, scale: Scale) -> None:
    """Write a number that a cell changed, for each object."""
    numbers = [value for value in map(number, data) if value is not None]
    is_movable = len(numbers) == len(data)  # else some have no value to move
    values = _all_values(numbers, new, scale) if is_movable else [new] * len(data)
    field.set_each([tidy(v, d) for v, d in zip(values, data, strict=True)], dragging=True)


def float_value(field: Field, sheet: Sheet) -> None:
    """A real number."""
    data, scale = field.data(), scale_of(field.prop)
    changed, new = real("##v", number(data[0]) or 0.0, scale, mixed=field.is_mixed)
    if changed:
        set_numbers(field, data, new, scale)
    settle(field)


def optional_value(field: Field, sheet: Sheet) -> None:
    """An optional real number, with a checkbox that sets or clears it."""
    data = field.data()
    there = data[0] is not None
    changed, on = checkbox("##on", there, field.is_mixed)
    imgui.set_item_tooltip(tr("Set or clear the value"))
    if changed:
        first = next((d for d in data if d is not None), _first_value(field.prop))
        field.set_all(first if on else None)
    imgui.same_line()
    if not there:
        imgui.text_colored(GREY, MIXED if field.is_mixed else tr("none"))
        return
    float_value(field, sheet)


def _first_value(prop: Any) -> float:
    """A number inside the range, for a value that had none."""
    bounds: Bounds = prop.bounds
    inside = [v for v in (prop.default, 0.0, 1.0, bounds.soft_high, bounds.high) if v is not None]
    return next((float(v) for v in inside if math.isfinite(v) and not bounds.problem(v)), 0.0)


def int_value(field: Field, sheet: Sheet) -> None:
    """A whole number; as text where it is too large for a drag to be exact."""
    data = field.data()
    bounds: Bounds = field.prop.bounds  # type: ignore[attr-defined]
    if abs(int(data[0])) > scalars.MOST_INT:
        yaml_value(field, sheet)
        return
    changed, new = whole("##v", int(data[0]), bounds, mixed=field.is_mixed)
    if changed:
        field.set_each([int(v) for v in _all_values(data, new, Scale(bounds))], dragging=True)
    settle(field)


def whole(label: str, value: int, bounds: Bounds, *, mixed: bool = False) -> tuple[bool, int]:
    """A number cell; where there is a soft range, with a bar that shows it."""
    ends = bounds.soft_low, bounds.soft_high
    usual = ends if all(map(math.isfinite, ends)) and ends[0] < ends[1] else None
    if mixed:
        imgui.push_item_flag(imgui.ItemFlags_.mixed_value, True)
    flags = int(imgui.SliderFlags_.no_speed_tweaks) if mixed else 0
    speed = (ends[1] - ends[0]) / 150.0 if usual else max(0.1, abs(value) * 0.005)
    result = whole_number_cell(
        label, value, speed, bounds.low, bounds.high, flags=flags, ends=usual
    )
    if mixed:
        imgui.pop_item_flag()
    return result


def vector_value(field: Field, sheet: Sheet) -> None:
    """Component by component: each object keeps the others."""
    rows = [_whole_vector(field, data) for data in field.data()]
    components(field, rows, scale_of(field.prop))


def components(field: Field, rows: list[list[Any]], scale: Scale) -> None:
    """The components of vectors side by side."""
    size = len(rows[0])
    gap = imgui.get_style().item_inner_spacing.x
    width = max(20.0, (imgui.calc_item_width() - gap * (size - 1)) / size)
    for k in range(size):
        if k:
            imgui.same_line(0.0, gap)
        imgui.set_next_item_width(width)
        column = [number(row[k]) or 0.0 for row in rows]
        mixed = any(value != column[0] for value in column)
        changed, new = real(f"##{k}", column[0], scale, mixed=mixed)
        if changed:
            values = _all_values(column, new, scale)
            changed_rows = [
                [*row[:k], tidy(value, row[k]), *row[k + 1 :]]
                for row, value in zip(rows, values, strict=True)
            ]
            field.set_each(changed_rows, dragging=True)
        settle(field)


def _whole_vector(field: Field, data: Any) -> list[Any]:
    """A vector in full, where fewer values were written."""
    default: list[float] = field.prop.default.tolist()
    given = list(data) if isinstance(data, list | tuple) else [data]
    return given + default[len(given) :]
