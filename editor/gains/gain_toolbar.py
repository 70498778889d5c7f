"""The line above the gain table: filter, what an edit applies to, inertia, presets."""

from collections.abc import Sequence
from pathlib import Path

from imgui_bundle import imgui

from mjrig.editor.gains.gain_model import Tuning
from mjrig.editor.texts.texts import tr
from mjrig.editor.ui.colours import RED
from mjrig.editor.ui.scale import px
from mjrig.gains.gain_rows import GainRow


class GainToolbar:
    """Changes what the tuning shows and how it edits."""

    def __init__(self, tuning: Tuning) -> None:
        self.tuning = tuning
        self._preset = "gains"

    def draw(self, rows: Sequence[GainRow]) -> None:
        """Build it above the rows that are shown."""
        tuning = self.tuning
        imgui.set_next_item_width(px(110))
        _, tuning.filter = imgui.input_text_with_hint(
            "##filter", tr("filter (regex)"), tuning.filter
        )
        if tuning.filter_problem:
            imgui.set_item_tooltip(tuning.filter_problem)
            imgui.same_line()
            imgui.text_colored(RED, "!")
            imgui.set_item_tooltip(tuning.filter_problem)
        imgui.same_line()
        _, tuning.every = imgui.checkbox(
            tr("edit {count} shown###every", count=len(rows)), tuning.every
        )
        imgui.set_item_tooltip(tr("An edit of one cell applies to every row shown."))
        imgui.same_line()
        _, tuning.mirror = imgui.checkbox(tr("mirror"), tuning.mirror)
        imgui.set_item_tooltip(tr("The other side follows: FL and FR, left and right, L and R."))
        imgui.same_line()
        _, tuning.all_actors = imgui.checkbox(tr("all actors"), tuning.all_actors)
        imgui.same_line()
        self._inertia_choice()
        imgui.same_line()
        if imgui.button(tr("Presets")):
            imgui.open_popup("presets")
        self._presets_popup()

    def _inertia_choice(self) -> None:
        tuning = self.tuning
        if imgui.button(f"I: {which_inertia(tuning)}###inertia"):
            tuning.held_inertia = not tuning.held_inertia
        at = f"{tuning.inertias.time:.3f} s" if tuning.inertias else "never"
        imgui.set_item_tooltip(
            tr(
                "The inertia that f and ζ are computed with; click to change.\n"
                "free, 1 / inv(M)_ii: the other joints and the base are free to move.\n"
                "held, M_ii: they are locked. Evaluated in the pose at t = {time}.",
                time=at,
            )
        )
        imgui.same_line()
        if imgui.button(tr("pose")):
            tuning.update_inertias()
        imgui.set_item_tooltip(tr("Re-evaluate the inertias in the present pose."))

    def _presets_popup(self) -> None:
        if not imgui.begin_popup("presets"):
            return
        tuning = self.tuning
        problem = tuning.why_no_preset()
        if problem:
            imgui.text_disabled(problem)
        imgui.begin_disabled(bool(problem))
        _, self._preset = imgui.input_text("##name", self._preset)
        path = tuning.preset_folder() / f"{self._preset or 'gains'}.yaml"
        imgui.same_line()
        if imgui.button(tr("Save")):
            tuning.save(path)
            imgui.close_current_popup()
        imgui.set_item_tooltip(tr("Write the gains in force to {path}", path=path))
        imgui.separator_text(tr("Load"))
        for file in tuning.preset_files():
            imgui.push_id(str(file))
            if imgui.selectable(file.stem, False)[0]:
                self._load(file)
            imgui.set_item_tooltip(str(file))
            imgui.pop_id()
        imgui.end_disabled()
        imgui.end_popup()

    def _load(self, file: Path) -> None:
        self.tuning.load(file)
        imgui.close_current_popup()


def which_inertia(tuning: Tuning) -> str:
    """The inertia that frequencies are computed with, as a word."""
    return tr("held") if tuning.held_inertia else tr("free")
