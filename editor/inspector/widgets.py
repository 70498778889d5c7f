"""One widget per kind of property, chosen by its class; any other kind is edited as YAML text."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from imgui_bundle import imgui

from mjrig.editor.inspector.fields import Field
from mjrig.editor.session.state import EditorState
from mjrig.editor.ui import scalars
from mjrig.editor.ui.colours import GREY
from mjrig.errors import MjrigError
from mjrig.properties.array_kinds import Vector
from mjrig.properties.bounds import Bounds, number
from mjrig.properties.declaration import Property
from mjrig.properties.mapping_kinds import Numbers
from mjrig.properties.scalar_kinds import (
    Bool,
    Choice,
    FilePath,
    Float,
    Int,
    OptionalFloat,
    Patterns,
    Text,
)
from mjrig.scene.actuator_kinds import Limited
from mjrig.scene.sim_options import ModelOption
from mjrig.yaml_text.yaml_document import parse_value
from mjrig.yaml_text.yaml_edit import format_flow

MIXED = "-"
PAYLOAD = "MJRIG"
#: Kinds of what is dragged that are files, if they are no Path anyway.
_FILES = ("file", "asset")
ANY = Bounds("", -math.inf, math.inf, None, None)


@dataclass
class Sheet:
    """What widgets need besides their field."""

    state: EditorState
    #: Texts being typed, by imgui id.
    typed: dict[int, str] = field(default_factory=dict)
    #: Opens a file dialog: (suffixes, what to do with the chosen file); None: there is none.
    browse: Callable[[tuple[str, ...], Callable[[str], None]], None] | None = None
    #: Values of options in the running model, by name.
    options: Callable[[str], Any] = lambda name: None


Widget = Callable[[Field, Sheet], None]
_WIDGETS: dict[type[Property[Any]], Widget] = {}


def register(kind: type[Property[Any]], widget: Widget) -> None:
    """Give a property class, and those derived from it, a widget."""
    _WIDGETS[kind] = widget


def widget_for(prop: Property[Any]) -> Widget:
    """The widget of a property; the nearest class that has one decides."""
    return next((_WIDGETS[c] for c in type(prop).__mro__ if c in _WIDGETS), yaml_value)


# Numbers ----------------------------------------------------------------------------------------


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
    """A slider where there is a soft range, a drag elsewhere.

    Dragging stops at the hard range and gives round numbers; what is typed is left as it is.
    """
    shown, alt = value * scale.factor, imgui.get_io().key_alt
    speed, ends = scale.speed(shown), scale.soft
    low, high = scale.bounds.low * scale.factor, scale.bounds.high * scale.factor
    if mixed:
        imgui.push_item_flag(imgui.ItemFlags_.mixed_value, True)
    if ends and not alt and ends[0] <= shown <= ends[1]:
        changed, new = scalars.slider(label, shown, *ends)
    else:
        # Alt means "relative" where several are edited: no slower speed then.
        flags = imgui.SliderFlags_.no_speed_tweaks if mixed else 0
        changed, new = scalars.drag(label, shown, speed, low, high, flags=flags)
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
    """After a numeric widget: its drag goes on while it is held, and ends when it is let go."""
    if imgui.is_item_active():
        field.touch()
    if imgui.is_item_deactivated():
        field.end()


def _set_numbers(field: Field, data: list[Any], new: float, wrap: Callable[[float], float]) -> None:
    """One value for all; with Alt, all by the same amount."""
    several = len(data) > 1
    if several and imgui.get_io().key_alt and all(number(d) is not None for d in data):
        delta = new - (number(data[0]) or 0.0)
        field.set_each([tidy(wrap(number(d) + delta), d) for d in data], dragging=True)  # type: ignore[operator]
    else:
        field.set_each([tidy(new, d) for d in data], dragging=True)


def _within(bounds: Bounds) -> Callable[[float], float]:
    return lambda value: round(min(max(value, bounds.low), bounds.high), 12)


def float_value(field: Field, sheet: Sheet) -> None:
    """A real number."""
    data, scale = field.data(), scale_of(field.prop)
    changed, new = real("##v", number(data[0]) or 0.0, scale, mixed=field.is_mixed)
    if changed:
        _set_numbers(field, data, new, _within(scale.bounds))
    settle(field)


def optional_value(field: Field, sheet: Sheet) -> None:
    """A real number behind a checkbox that says whether there is one."""
    data = field.data()
    there = data[0] is not None
    changed, on = checkbox("##on", there, field.is_mixed)
    imgui.set_item_tooltip("Whether there is a value")
    if changed:
        first = next((d for d in data if d is not None), _first_value(field.prop))
        field.set_all(first if on else None)
    imgui.same_line()
    if not there:
        imgui.text_colored(GREY, MIXED if field.is_mixed else "none")
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
        alt = len(data) > 1 and imgui.get_io().key_alt
        values = [int(_within(bounds)(d + new - data[0])) if alt else new for d in data]
        field.set_each(values, dragging=True)
    settle(field)


def whole(label: str, value: int, bounds: Bounds, *, mixed: bool = False) -> tuple[bool, int]:
    """A slider where there is a soft range, a drag elsewhere."""
    ends = bounds.soft_low, bounds.soft_high
    if mixed:
        imgui.push_item_flag(imgui.ItemFlags_.mixed_value, True)
    if all(map(math.isfinite, ends)) and ends[0] <= value <= ends[1] and not mixed:
        result = scalars.slider_int(label, value, int(ends[0]), int(ends[1]))
    else:
        flags = imgui.SliderFlags_.no_speed_tweaks if mixed else 0
        speed = max(0.1, abs(value) * 0.005)
        result = scalars.drag_int(label, value, speed, bounds.low, bounds.high, flags=flags)
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
    width = max(20.0, (_width() - gap * (size - 1)) / size)
    for k in range(size):
        if k:
            imgui.same_line(0.0, gap)
        imgui.set_next_item_width(width)
        column = [number(row[k]) or 0.0 for row in rows]
        mixed = any(value != column[0] for value in column)
        changed, new = real(f"##{k}", column[0], scale, mixed=mixed)
        if changed:
            delta = new - column[0] if len(rows) > 1 and imgui.get_io().key_alt else None
            values = [new if delta is None else _within(scale.bounds)(v + delta) for v in column]
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


def _width() -> float:
    """What the widget about to be drawn may take."""
    return imgui.calc_item_width()


# Texts and choices ------------------------------------------------------------------------------


def checkbox(label: str, value: bool, mixed: bool) -> tuple[bool, bool]:
    """A checkbox that can show that values differ."""
    if mixed:
        imgui.push_item_flag(imgui.ItemFlags_.mixed_value, True)
    result = imgui.checkbox(label, value)
    if mixed:
        imgui.pop_item_flag()
    return result


def bool_value(field: Field, sheet: Sheet) -> None:
    """True or false."""
    changed, new = checkbox("##v", bool(field.data()[0]), field.is_mixed)
    if changed:
        field.set_all(new)


def entry(sheet: Sheet, label: str, shown: str, hint: str = "") -> str | None:
    """A line of text; what was typed once it is let go or confirmed, None until then."""
    key = imgui.get_id(label)
    _, text = imgui.input_text_with_hint(label, hint, sheet.typed.get(key, shown))
    done = imgui.is_item_deactivated_after_edit()
    if imgui.is_item_active():
        sheet.typed[key] = text
    else:
        sheet.typed.pop(key, None)
    return text if done and text != shown else None


def text_value(field: Field, sheet: Sheet) -> None:
    """A line of text."""
    new = entry(sheet, "##v", *_shown_text(field, str(field.data()[0] or "")))
    if new is not None:
        field.set_all(new)


def _shown_text(field: Field, text: str) -> tuple[str, str]:
    return ("", MIXED) if field.is_mixed else (text, "")


def patterns_value(field: Field, sheet: Sheet) -> None:
    """One pattern as it is, several as a YAML list."""
    data = field.data()[0]
    text = data if isinstance(data, str) else data[0] if len(data) == 1 else format_flow(data)
    new = entry(sheet, "##v", *_shown_text(field, text if data else ""))
    if new is not None:
        _put_patterns(field, new)


def _put_patterns(field: Field, text: str) -> None:
    if not text:
        field.reset()
    elif text.startswith("[") and text.endswith("]") and "," in text:
        put_parsed(field, text)
    else:
        field.set_all(text)


def choice_value(field: Field, sheet: Sheet) -> None:
    """A list to choose from."""
    choices = [str(choice) for choice in field.prop.choices]  # type: ignore[attr-defined]
    value = vars(field.obj)[field.prop.name]  # what is written may be a number for it
    new = combo("##v", MIXED if field.is_mixed else str(value), choices)
    if new is not None:
        field.set_all(new)


def limited_value(field: Field, sheet: Sheet) -> None:
    """True, false, or as the rest says."""
    words: dict[object, str] = {None: field.prop.default_text(), True: "true", False: "false"}
    shown = MIXED if field.is_mixed else words[field.data()[0]]
    new = combo("##v", shown, list(words.values()))
    if new is not None:
        field.set_all(next(value for value, word in words.items() if word == new))


def combo(
    label: str, shown: str, choices: Sequence[str] | Callable[[], Sequence[str]]
) -> str | None:
    """What was chosen, None while nothing is; the choices may be a function, asked when open."""
    chosen = None
    if imgui.begin_combo(label, shown):
        for choice in choices() if callable(choices) else choices:
            if imgui.selectable(choice, choice == shown)[0]:
                chosen = choice
        imgui.end_combo()
    return chosen


def path_value(field: Field, sheet: Sheet) -> None:
    """A file name, with a button that browses, and a target to drop a file on."""
    suffixes: tuple[str, ...] = field.prop.suffixes  # type: ignore[attr-defined]
    button = imgui.get_frame_height() if sheet.browse else 0.0
    imgui.set_next_item_width(max(40.0, _width() - button))
    new = entry(sheet, "##v", *_shown_text(field, str(field.data()[0] or "")))
    dropped = _dropped_file(sheet)
    if sheet.browse is not None:
        imgui.same_line(0.0, 0.0)
        if imgui.button("...##browse"):
            sheet.browse(suffixes, lambda name: _put_file(field, name))
    if dropped is not None:
        _put_file(field, dropped)
    elif new is not None:
        field.set_all(new or None)


def _dropped_file(sheet: Sheet) -> str | None:
    found = None
    if imgui.begin_drag_drop_target():
        if imgui.accept_drag_drop_payload_py_id(PAYLOAD) is not None and sheet.state.dragged:
            kind, value = sheet.state.dragged
            if isinstance(value, Path) or kind in _FILES:
                found = str(value)
        imgui.end_drag_drop_target()
    return found


def _put_file(field: Field, name: str) -> None:
    """Files below the scene's folder are written relative to it."""
    path, folder = Path(name), field.obj.folder()
    if path.is_absolute() and path.resolve().is_relative_to(folder.resolve()):
        name = path.resolve().relative_to(folder.resolve()).as_posix()
    field.set_all(name)


# Anything else ----------------------------------------------------------------------------------


def yaml_value(field: Field, sheet: Sheet) -> None:
    """Any value, as the scene file would say it."""
    shown, hint = _shown_text(field, _flow(field))
    new = entry(sheet, "##v", shown, hint or field.prop.default_text())
    if new is not None:
        put_parsed(field, new)


def _flow(field: Field) -> str:
    data = field.data()[0]
    if data is None and not field.is_authored:
        return ""
    try:
        return format_flow(data)
    except Exception:  # a value of a kind of its own: nobody wrote it, so there is nothing to show
        return ""


def put_parsed(field: Field, text: str) -> None:
    """Set what a YAML text says; nothing: the default."""
    if not text.strip():
        field.reset()
        return
    try:
        value = parse_value(text)
    except MjrigError as error:
        field.edits.state.problems[field.path] = str(error)
        field.edits.state.console.fail(f"{field.path}: {error}")
        return
    field.set_all(value)


def numbers_value(field: Field, sheet: Sheet) -> None:
    """One number, or several as a list."""
    if all(number(data) is not None for data in field.data()):
        float_value(field, sheet)
    else:
        yaml_value(field, sheet)


def option_value(field: Field, sheet: Sheet) -> None:
    """A field of MuJoCo's options: as the model says, or set."""
    prop: Any = field.prop
    is_set = field.is_authored
    changed, on = checkbox("##on", is_set, field.is_mixed)
    imgui.set_item_tooltip("Off: as the model says")
    in_model = sheet.options(prop.name)
    if changed:
        field.set_all(_first_option(prop, in_model)) if on else field.reset()
    imgui.same_line()
    if not is_set:
        imgui.text_colored(GREY, "as the model" if in_model is None else _option_text(in_model))
        imgui.set_item_tooltip("What the model says")
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
