"""Remedies of findings in the window: a button for each, made as one edit that can be undone."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from imgui_bundle import imgui

from mjrig.core.files.atomic_writes import write_atomically
from mjrig.core.findings import Finding, Remedy
from mjrig.core.scene.editing.scene import Scene
from mjrig.editor.session.state import EditorState
from mjrig.editor.text import tr
from mjrig.editor.ui.colours import GREY
from mjrig.lab.findings.remedies import apply
from mjrig.lab.replay.repairs import policy_file, policy_path


def draw_remedies(
    state: EditorState, finding: Finding, *, field: str = "", robot: str = "", enabled: bool = True
) -> None:
    """A button for each remedy of a finding; without one, why there is none.

    Args:
        state: what is edited.
        finding: its remedies are drawn.
        field: where a refusal is shown, besides the console.
        robot: the actor whose policy file a remedy may change; empty: the only one with a policy.
        enabled: whether the buttons can be clicked now.
    """
    if finding.by_hand:
        imgui.push_style_color(imgui.Col_.text, GREY)
        imgui.text_wrapped(tr("by hand: {why}", why=finding.by_hand))
        imgui.pop_style_color()
    imgui.begin_disabled(not enabled)
    for i, remedy in enumerate(finding.remedies):
        label = tr("Fix: {remedy}", remedy=remedy.text)
        if i and _fits(label):
            imgui.same_line()
        if imgui.small_button(f"{label}###fix{i}"):
            fix(state, finding, remedy, field=field, robot=robot)
        edits = "\n".join(map(str, remedy.edits))
        imgui.set_item_tooltip(tr("One edit, which can be undone:\n{edits}", edits=edits))
    imgui.end_disabled()


def fix(
    state: EditorState, finding: Finding, remedy: Remedy, *, field: str = "", robot: str = ""
) -> bool:
    """Make a remedy, as one edit of the scene; returns whether the scene took it."""
    lines: Sequence[str] = ()

    def edit() -> None:
        nonlocal lines
        name = tr("Fix {where}: {remedy}", where=finding.where, remedy=remedy.text)
        with state.session.edit(name) as scene:
            lines = _applied(scene, replace(finding, remedies=(remedy,)), robot)

    done = state.attempt(edit, field)
    for line in lines if done else ():
        state.console.say(tr("fixed: {line}", line=line))
    return done


def _applied(scene: Scene, finding: Finding, robot: str) -> list[str]:
    """Make the edits; a policy file is left alone: its copy is repaired, and the scene uses that.

    Raises:
        MjrigError: a value does not fit, or there is no policy file; nothing was changed.
    """
    in_policy = any(edit.file == "policy" for edit in finding.edits)
    path = policy_file(scene, robot) if in_policy else None
    applied = apply([finding], scene, path)
    if path is None:
        return applied.lines
    copy = _free(path)
    write_atomically(copy, applied.policy_text)
    scene.set(f"{policy_path(scene, robot)}.file", str(copy))
    return [*applied.lines, tr("written to {copy}", copy=copy)]


def _free(path: Path) -> Path:
    """A name in the same folder that is not used."""
    number = 1
    while True:
        more = "" if number == 1 else f"-{number}"
        found = path.with_name(f"{path.stem}-fixed{more}{path.suffix}")
        if not found.exists():
            return found
        number += 1


def _fits(label: str) -> bool:
    """Whether a small button still fits behind the last one."""
    style = imgui.get_style()
    width = imgui.calc_text_size(label).x + 2.0 * style.frame_padding.x + style.item_spacing.x
    right = imgui.get_cursor_screen_pos().x + imgui.get_content_region_avail().x
    return imgui.get_item_rect_max().x + width < right
