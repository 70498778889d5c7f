"""Dialogs after a drop: pre-flight of a policy, motors for a controller that drives nothing."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from imgui_bundle import imgui

from mjrig.components.importers.policy_import import report_data
from mjrig.components.importers.sources.overrides import FLAGS, ReplacementOptions
from mjrig.core.errors import BindingError, MjrigError, ReaderKind
from mjrig.core.findings import Level
from mjrig.core.names import listed
from mjrig.core.properties.component import ActorComponent, component_named
from mjrig.core.scene.editing.actuator_conversion import as_motors
from mjrig.core.scene.editing.scene import Actor
from mjrig.editor.assets import policy_import
from mjrig.editor.assets.drops import described_actor, use_motors
from mjrig.editor.assets.policy_import import Offer
from mjrig.editor.session.background import Background
from mjrig.editor.session.state import EditorState, Idle
from mjrig.editor.text import error_text, tr
from mjrig.editor.ui.colours import AMBER, GREY, RED
from mjrig.editor.ui.dialogs import Dialog
from mjrig.editor.ui.layout import size
from mjrig.editor.ui.option_fields import option_fields
from mjrig.lab.findings.ranking import count_by_severity
from mjrig.lab.findings.ranking import lines as finding_lines

# Import dialog ------------------------------------------------------------------------------------


_SIZE = (860, 380)
_FIELD = 300
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
        self.replacements = ReplacementOptions()

    def ask(self, files: Sequence[Path], actor: str) -> None:
        """Examine files for an actor in the background, then show what was found.

        Raises:
            MjrigError: there is no such actor here, or it has no model.
        """
        described = described_actor(self.state, actor)
        self._asked = list(files), described.name, policy_import.model_of(described)
        self.replacements = ReplacementOptions()
        self.examine()
        self.open()

    def examine(self) -> None:
        """Examine the files in the background, with what the user says now."""
        files, name, model = self._asked
        said = self.replacements.values(*FLAGS)
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
                assert work.error is not None
                if not _is_overridable(work.error) and not any(
                    self.replacements.values(*FLAGS).values()
                ):
                    self.close()
                self._problem = error_text(work.error)
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
        option_fields(self.replacements, *FLAGS, width=_FIELD)
        if imgui.button(tr("Examine again") + "###again"):
            self.examine()

    def _findings(self, offer: Offer) -> None:
        found = offer.imported.findings
        imgui.separator_text(tr("Pre-flight: {found}", found=count_by_severity(found)))
        imgui.push_text_wrap_pos(0.0)
        for finding in found:
            for line in finding_lines([finding], ReaderKind.WINDOW):
                imgui.text_colored(_COLOURS[finding.severity], line.strip())
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


def _is_overridable(error: BaseException) -> bool:
    """Whether an error names an option that the user can set here."""
    ways = error.message.phrases if isinstance(error, MjrigError) else ()
    return any(way.values.get("name") in FLAGS for way in ways)


# Motors dialog ------------------------------------------------------------------------------------


#: How many actuators are listed with their reasons.
_LISTED = 3


@dataclass(frozen=True)
class _Offer:
    idle: Idle
    actor: Actor
    #: The position actuators that can be motors.
    servos: tuple[str, ...]


class MotorsDialog(Dialog):
    """Says why a controller drives nothing, and offers motors where that helps."""

    title = "The controller drives nothing"

    def __init__(self, state: EditorState) -> None:
        super().__init__(state)
        self._offer: _Offer | None = None

    def ask(self, idle: Idle) -> None:
        """Show it for a controller."""
        actor = self.state.scene[idle.actor]
        self._offer = _Offer(idle, actor, _servos(self.state, actor))
        self.open()

    def content(self) -> None:
        offer = self._offer
        assert offer is not None
        idle = offer.idle
        imgui.text(
            tr("{role} on {actor} has no actuator to drive:", role=idle.role, actor=idle.actor)
        )
        for reason in idle.reasons[:_LISTED]:
            imgui.bullet_text(reason)
        if len(idle.reasons) > _LISTED:
            imgui.bullet_text(tr("and {count} more", count=len(idle.reasons) - _LISTED))
        if not idle.reasons:
            imgui.bullet_text(tr("the actor has no actuator"))
        imgui.spacing()
        if offer.servos:
            self._motors(offer)
        if imgui.button(tr("Remove the controller")):
            self.close()
            self.state.attempt(lambda: self._remove(offer))
        imgui.set_item_tooltip(tr("The gains of native actuators are in the gain table as well."))
        imgui.same_line()
        if imgui.button(tr("Leave it")):
            self.close()

    def _motors(self, offer: _Offer) -> None:
        if imgui.button(tr("Use motors")):
            self.close()
            self.state.attempt(lambda: use_motors(self.state, offer.actor, offer.idle.role))
        imgui.set_item_tooltip(
            tr(
                "Makes motors of {names} (use_motors: true); the controller takes over their "
                "gains and limits. The model file stays as it is.",
                names=listed(offer.servos),
            )
        )
        imgui.same_line()

    def _remove(self, offer: _Offer) -> None:
        actor, role = offer.actor, offer.idle.role
        component = component_named(actor, actor.components, role)
        assert isinstance(component, ActorComponent)
        with self.state.session.edit(tr("Remove {role} from {name}", role=role, name=actor.name)):
            actor.remove_component(component)


def _servos(state: EditorState, actor: Actor) -> tuple[str, ...]:
    """The actuators that `use_motors` would make motors of."""
    try:
        made = as_motors(actor, ".*", state.scene.effective_sim()).actuators
    except BindingError:
        return ()
    new = [a for a in made if all(a is not own for own in actor.actuators)]
    return tuple(name for a in new for name in (a.replaces or (a.joint,)))
