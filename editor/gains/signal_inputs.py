"""The inputs of a test signal: its kind, and the numbers that matter for it."""

from dataclasses import replace

from imgui_bundle import imgui

from mjrig.editor.session.state import EditorState
from mjrig.editor.texts.texts import tr
from mjrig.editor.ui.number_cell import number_cell
from mjrig.errors import MjrigError
from mjrig.gains.response import Kind, Signal

#: Where a signal that was refused is noted among the problems.
FIELD = "signal"


def signal_inputs(state: EditorState, signal: Signal, *, per_line: int) -> Signal:
    """Draw them, `per_line` in a line; returns the signal with the new values.

    A value that is refused (0 during a drag, for example) is noted in the state and not taken.
    """
    width = imgui.get_content_region_avail().x / per_line - 8
    changes: dict[str, object] = {}
    imgui.set_next_item_width(width)
    if imgui.begin_combo("##kind", signal.kind):
        for kind in Kind:
            if imgui.selectable(kind, kind is signal.kind)[0]:
                changes["kind"] = kind
        imgui.end_combo()
    for i, (name, text, speed) in enumerate(_numbers(signal.kind), 1):
        if i % per_line:
            imgui.same_line()
        imgui.set_next_item_width(width)
        value = float(getattr(signal, name))
        edited, new = number_cell(f"##{name}", value, speed, fmt=text)
        imgui.set_item_tooltip(name.replace("_", " "))
        if edited:
            changes[name] = new
    return changed(state, signal, **changes) if changes else signal


def _numbers(kind: Kind) -> list[tuple[str, str, float]]:
    """(name, format, speed) of what a kind needs."""
    found = [("amplitude", tr("%.3g rad"), 0.005), ("duration", "%.3g s", 0.02)]
    if kind is not Kind.STEP:
        found.append(("frequency", tr("%.3g Hz"), 0.02))
    if kind is Kind.CHIRP:
        found.append(("end_frequency", tr("to %.3g Hz"), 0.02))
    return found


def changed(state: EditorState, signal: Signal, **changes: object) -> Signal:
    """The signal with other numbers; as it was, and why in the state, where they are refused."""
    try:
        new = replace(signal, **changes)  # type: ignore[arg-type]
    except MjrigError as error:
        state.problems[FIELD] = str(error)
        return signal
    state.problems.pop(FIELD, None)
    return new
