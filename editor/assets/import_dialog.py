"""ImportDialog: the pre-flight of a dropped policy, before anything is changed."""

from collections.abc import Sequence
from pathlib import Path

from imgui_bundle import imgui

from mjrig.check.finding import Level, counted, lines_of
from mjrig.components.importers.report import report_data
from mjrig.components.importers.sources.flags import FLAGS
from mjrig.editor.assets import policy_import
from mjrig.editor.assets.drops import described_actor
from mjrig.editor.assets.policy_import import Offer
from mjrig.editor.session.background import Background
from mjrig.editor.session.state import EditorState
from mjrig.editor.session.window_words import window_words
from mjrig.editor.texts.texts import tr
from mjrig.editor.ui.colours import AMBER, GREY, RED
from mjrig.editor.ui.dialogs import Dialog
from mjrig.editor.ui.scale import size

_SIZE = (860, 380)
_FIELD = (300, 0)
_COLUMNS = ("", "joint", "actuator", "kind", "default", "scale", "kp", "kv", "limit")
_UNITS = {
    "default": " [rad, m]",
    "kp": " [N·m/rad, N/m]",
    "kv": " [N·m·s/rad, N·s/m]",
    "limit": " [N·m, N]",
}
_COLOURS = {Level.ERROR: RED, Level.WARNING: AMBER, Level.NOTE: GREY}
_TABLE = int(imgui.TableFlags_.row_bg | imgui.TableFlags_.sizing_fixed_fit)


class ImportDialog(Dialog):
    """Shows the pre-flight of an import; one button makes it an edit."""

    title = "Import a policy"
    centred = imgui.Cond_.always

    def __init__(self, state: EditorState) -> None:
        super().__init__(state)
        self._work: Background[Offer] | None = None
        self.offer: Offer | None = None
        self._data: dict[str, object] = {}
        self._changes: list[str] = []
        self._problem = ""
        #: What the user says instead of the files, by option of `mjrig import`.
        self.said = dict.fromkeys(FLAGS, "")

    def ask(self, files: Sequence[Path], actor: str) -> None:
        """Examine files for an actor in the background, then show what was found.

        Raises:
            MjrigError: there is no such actor here, or it has no model.
        """
        described = described_actor(self.state, actor)
        self._asked = list(files), described.name, policy_import.model_of(described)
        self.said = dict.fromkeys(FLAGS, "")
        self.examine()
        self.open()

    def examine(self) -> None:
        """Examine the files in the background, with what the user says now."""
        files, name, model = self._asked
        said = dict(self.said)
        self.offer, self._problem = None, ""
        self._work = Background(
            lambda: policy_import.look_at(files, name, model, said), "mjrig-import"
        )

    def tick(self) -> None:
        """Once per frame: take what was found."""
        if self._work is not None and self._work.is_done:
            work, self._work = self._work, None
            self.offer = work.told(self.state.console)
            if self.offer is None:
                self._problem = _overridable(work.error) or self._problem
                if not self._problem and not any(self.said.values()):
                    self.close()
                self._problem = self._problem or str(work.error)
                return
            self._data = report_data(self.offer.imported)
            self._changes = policy_import.changes(self.state, self.offer)

    def wait(self) -> None:
        """Wait until the files were examined."""
        if self._work is not None:
            self._work.wait()
            self.tick()

    def content(self) -> None:
        offer = self.offer
        if offer is None and self._problem:
            imgui.push_text_wrap_pos(size(*_SIZE).x)
            imgui.text_colored(RED, self._problem)
            imgui.pop_text_wrap_pos()
            self._overrides()
            if imgui.button(tr("Cancel")):
                self.close()
            return
        if offer is None:
            imgui.text(tr("Examining the files…"))
            if imgui.button(tr("Cancel")):
                self._work = None
                self.close()
            return
        files = ", ".join(offer.imported.source.files)
        imgui.text(
            tr("{files} ({stack}) on {actor}", files=files, stack=offer.stack, actor=offer.actor)
        )
        imgui.begin_child("found", size(*_SIZE), imgui.ChildFlags_.borders)
        self._findings(offer)
        self._joints()
        imgui.end_child()
        self._overrides()
        if offer.refused:
            imgui.text_colored(RED, tr("This policy does not fit the robot."))
        else:
            for line in self._changes:
                imgui.bullet_text(line)
        imgui.spacing()
        self._buttons(offer)

    def _overrides(self) -> None:
        """Fields for what replaces the values of the files, and guesses."""
        if not imgui.collapsing_header(
            tr("Instead of what the files say, or what is guessed") + "###said"
        ):
            return
        for flag, (form, about) in FLAGS.items():
            imgui.set_next_item_width(size(*_FIELD).x)
            _, self.said[flag] = imgui.input_text_with_hint(flag, form, self.said[flag])
            imgui.set_item_tooltip(about)
        if imgui.button(tr("Examine again") + "###again"):
            self.examine()

    def _findings(self, offer: Offer) -> None:
        found = offer.imported.findings
        imgui.separator_text(tr("Pre-flight: {found}", found=counted(found)))
        imgui.push_text_wrap_pos(0.0)
        for finding in found:
            for line in lines_of([finding]):
                imgui.text_colored(_COLOURS[finding.level], window_words(line.strip()))
        imgui.pop_text_wrap_pos()
        data = self._data
        takes = (
            tr(", the network takes {size}", size=data["network_input"])
            if data["network_input"]
            else ""
        )
        imgui.separator_text(
            tr("Observation: {size} values{takes}", size=data["observation_size"], takes=takes)
        )
        terms = data["observation"]
        assert isinstance(terms, list)
        imgui.text_wrapped(", ".join(f"{t['type']} {t['size']}" for t in terms))
        imgui.text(
            tr(
                "{timestep:g} s × {decimation} steps, {phase} the step",
                timestep=data["timestep"],
                decimation=data["decimation"],
                phase=data["phase"],
            )
        )

    def _joints(self) -> None:
        rows = self._data["joints"]
        assert isinstance(rows, list)
        imgui.separator_text(tr("{count} joints", count=len(rows)))
        if not imgui.begin_table("joints", len(_COLUMNS), _TABLE):
            return
        for name in _COLUMNS:
            imgui.table_setup_column(name + _UNITS.get(name, ""))
        imgui.table_headers_row()
        for row in rows:
            imgui.table_next_row()
            for name in _COLUMNS:
                imgui.table_next_column()
                imgui.text(row[name or tr("index")])
        imgui.end_table()

    def _buttons(self, offer: Offer) -> None:
        imgui.begin_disabled(bool(offer.refused))
        if imgui.button(tr("Add it###add")):
            self.close()
            self.state.attempt(lambda: policy_import.accept(self.state, offer))
        imgui.end_disabled()
        imgui.same_line()
        if imgui.button(tr("Cancel")):
            self.close()


def _overridable(error: Exception | None) -> str:
    """The text of an error that names an option the user can set here; or empty."""
    text = str(error or "")
    return text if any(f"--{flag}" in text for flag in FLAGS) else ""
