"""Widgets for texts, choices, files and keyframes, and for any value as YAML text."""

from collections.abc import Callable, Sequence
from pathlib import Path

from imgui_bundle import imgui

from mjrig.core.control.articulation import Articulation
from mjrig.core.errors import MjrigError
from mjrig.core.properties.has_properties import HasProperties
from mjrig.core.scene.actor_description import ActorDescription
from mjrig.core.yaml_text.formatting import format_flow
from mjrig.core.yaml_text.yaml_document import parse_value
from mjrig.editor.inspector.fields import Field
from mjrig.editor.inspector.widget_context import MIXED, PAYLOAD, Sheet
from mjrig.editor.text import error_text, tr

# Text widgets -------------------------------------------------------------------------------------


#: Kinds of dragged items that are files.
_FILES = ("file", "asset")


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
    """A line of text; returns the text once it is confirmed or loses focus, None until then."""
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
    """True, false, or auto."""
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
    imgui.set_next_item_width(max(40.0, imgui.calc_item_width() - button))
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


# Any value --------------------------------------------------------------------------------------


def yaml_value(field: Field, sheet: Sheet) -> None:
    """Any value, as YAML text."""
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
    except Exception:  # a value that was not authored and has no YAML form
        return ""


def put_parsed(field: Field, text: str) -> None:
    """Set the value of a YAML text; empty: the default."""
    if not text.strip():
        field.reset()
        return
    try:
        value = parse_value(text)
    except MjrigError as error:
        field.edits.state.problems[field.path] = error_text(error)
        field.edits.state.console.fail(f"{field.path}: {error_text(error)}")
        return
    field.set_all(value)


# Keyframe widgets ---------------------------------------------------------------------------------
# Keyframes are chosen from a list: those of the model and of the scene.


#: The kind that a property which names a keyframe refers to.
KEYFRAME = "keyframe"


def keyframe_value(field: Field, sheet: Sheet) -> None:
    """The name of a keyframe that every selected object's actor has, or none."""
    none = tr("(none)")
    shown = MIXED if field.is_mixed else str(field.data()[0] or none)
    new = combo("##v", shown, lambda: (none, *_of_all(field, sheet)))
    if new == none:
        field.reset()
    elif new is not None:
        field.set_all(new)


def keyframe_argument(label: str, value: str, live: HasProperties) -> str | None:
    """The name of a keyframe as an argument; None where the object has no keyframes."""
    if not isinstance(live, Articulation):
        return None
    if not live.keyframes:
        imgui.text_disabled(tr("{name} has no keyframes", name=live.name))
        return ""
    return combo(label, value, live.keyframes) or value or live.keyframes[0]


def _of_all(field: Field, sheet: Sheet) -> Sequence[str]:
    """The keyframes that the actors of all targets have, in the order of the first."""
    found = [_of(target.obj, sheet) for target in field.targets]
    return [name for name in found[0] if all(name in others for others in found)]


def _of(obj: HasProperties, sheet: Sheet) -> Sequence[str]:
    owner: HasProperties | None = obj
    while owner is not None and not isinstance(owner, ActorDescription):
        owner = owner.parent
    live = sheet.state.live(owner.name) if owner is not None else None
    return live.keyframes if isinstance(live, Articulation) else ()
