"""The plot of the replay panel: recorded signals, and the moment that is shown."""

from collections.abc import Mapping

import numpy as np
from imgui_bundle import ImVec2, ImVec4, imgui, implot

from mjrig.core.arrays import FloatArray
from mjrig.data.recording.recording import ActorRecording, Recording
from mjrig.editor.panels.plot_model import thinned
from mjrig.editor.panels.plots_panel import short_names
from mjrig.editor.replay.playback import Replaying
from mjrig.editor.session.state import EditorState
from mjrig.editor.text import matches, tr
from mjrig.editor.ui.colours import AMBER, GREY
from mjrig.editor.ui.layout import px

# Recorded signals ---------------------------------------------------------------------------------
# Recorded signals over the time of a recording, as curves; no imgui.


#: What can be shown, with the units of hinges and of slides.
KINDS = {
    "position": ("rad", "m"),
    "velocity": ("rad/s", "m/s"),
    "setpoint": ("rad", "m"),
    "effort": ("N·m", "N"),
}
#: Kinds that are shown together: what was reached, and faint what was wanted.
WANTED = {"position": "setpoint"}


def recorded_curves(recording: Recording, kind: str) -> dict[str, FloatArray]:
    """(2, n) curves by `robot.joint`, over the time since the beginning [s]."""
    found: dict[str, FloatArray] = {}
    for actor in recording.actors.values():
        for name, (steps, values) in _columns(actor, kind).items():
            found[f"{actor.name}.{name}"] = np.stack([steps * recording.timestep, values])
    return found


def unit_of(recording: Recording, kind: str) -> str:
    """The unit of a kind of signal: of hinges, of slides, or of both."""
    joints = [joint for actor in recording.actors.values() for joint in actor.joints]
    turns, slides = KINDS[kind]
    units = [turns] * any(j.kind == "hinge" for j in joints)
    units += [slides] * any(j.kind == "slide" for j in joints)
    return ", ".join(units)


def _columns(actor: ActorRecording, kind: str) -> dict[str, tuple[FloatArray, FloatArray]]:
    """Steps and values by joint."""
    if kind in ("position", "velocity"):
        single = [joint for joint in actor.joints if joint.kind in ("hinge", "slide")]
        table = actor.qpos if kind == "position" else actor.qvel
        if table is None:
            return {}
        places = [j.qpos.start if kind == "position" else j.dof.start for j in single]
        steps = actor.step.astype(float)
        return {j.name: (steps, table[:, i]) for j, i in zip(single, places, strict=True)}
    if kind == "setpoint":
        if actor.commands is None:
            return {}
        steps, table = actor.commands.step.astype(float), actor.commands.position
    else:
        if actor.efforts is None:
            return {}
        steps, table = actor.efforts.step.astype(float), actor.efforts.effort
    names = [joint or name for joint, name in zip(actor.driven, actor.actuators, strict=True)]
    return {name: (steps, table[:, i]) for i, name in enumerate(names)}


# Recorded plot ------------------------------------------------------------------------------------


#: Most curves that are drawn, and the height of the plot.
DRAWN, HEIGHT = 8, 150.0


class RecordedPlot:
    """Curves of the recording that is open; a line shows the moment, and is dragged to another."""

    def __init__(self, state: EditorState, replaying: Replaying) -> None:
        self.state, self.replaying = state, replaying
        self.kind, self._filter = "position", ""
        self._read: Recording | None = None
        self._read_kind = ""
        self._curves: Mapping[str, FloatArray] = {}
        self._wanted: Mapping[str, FloatArray] = {}

    def curves(self) -> list[str]:
        """The joints that are drawn: those selected or typed, else the first ones."""
        names = [name for name in self._curves if matches(self._filter, name)]
        chosen = [name for name in names if self._is_selected(name)]
        return (chosen or names)[:DRAWN]

    def _is_selected(self, name: str) -> bool:
        actor, _, joint = name.partition(".")
        for path in self.state.selection.paths:
            owner, _, element = path.partition(".")
            kind, _, part = element.partition(":")
            if owner == actor and kind == "joint" and part == joint:
                return True
            if owner == actor and kind == "actuator" and self._drives(actor, part, joint):
                return True
        return False

    def _drives(self, actor: str, actuator: str, joint: str) -> bool:
        recording = self.replaying.recording
        recorded = recording.actors.get(actor) if recording is not None else None
        if recorded is None:
            return False
        pairs = zip(recorded.actuators, recorded.driven, strict=True)
        return (actuator, joint) in ((name, driven or name) for name, driven in pairs)

    def _follow(self, recording: Recording) -> None:
        if self._read is recording and self._read_kind == self.kind:
            return
        self._read, self._read_kind = recording, self.kind
        self._curves = recorded_curves(recording, self.kind)
        wanted = WANTED.get(self.kind)
        self._wanted = recorded_curves(recording, wanted) if wanted else {}

    def draw(self) -> None:
        """Build it, if a recording is open."""
        recording = self.replaying.recording
        if recording is None:
            return
        self._follow(recording)
        imgui.set_next_item_width(px(100))
        if imgui.begin_combo("##kind", self.kind):
            for kind in KINDS:
                if imgui.selectable(kind, kind == self.kind)[0]:
                    self.kind = kind
            imgui.end_combo()
        imgui.same_line()
        imgui.set_next_item_width(px(120))
        hint = tr("joints")
        _, self._filter = imgui.input_text_with_hint("##joints", hint, self._filter)
        shown = self.curves()
        imgui.same_line()
        imgui.text_colored(GREY, self._about(len(shown)))
        if shown:
            self._plot(recording, shown)

    def _about(self, drawn: int) -> str:
        count = len(self._curves)
        if not count:
            return tr("not in this recording")
        if drawn == count:
            return tr("drag the line to scrub")
        return tr("{drawn} of {count}; select joints, or type a part of a name",
                  drawn=drawn, count=count)  # fmt: skip

    def _plot(self, recording: Recording, shown: list[str]) -> None:
        flags = int(implot.Flags_.no_title | implot.Flags_.no_menus)
        if not implot.begin_plot("##recorded", ImVec2(-1, px(HEIGHT)), flags):
            return
        unit = unit_of(recording, self.kind)
        bare, fit = implot.AxisFlags_.no_label, implot.AxisFlags_.auto_fit
        implot.setup_axes("", f"{self.kind} [{unit}]", bare, fit)
        implot.setup_axis_format(implot.ImAxis_.x1, "%g s")
        end = max(self.replaying.duration, 1e-6)
        implot.setup_axis_limits(implot.ImAxis_.x1, 0.0, end, imgui.Cond_.once)
        implot.setup_legend(implot.Location_.east, implot.LegendFlags_.outside)
        points = 2 * max(int(implot.get_plot_size().x), 50)
        seen = implot.get_plot_limits().x  # zoomed in, every sample of what is seen
        for i, (name, label) in enumerate(zip(shown, short_names(shown), strict=True)):
            colour = implot.get_colormap_color(i)
            if name in self._wanted:
                faint = implot.Spec(line_color=ImVec4(colour.x, colour.y, colour.z, 0.4))
                x, y = thinned(self._wanted[name], seen.min, seen.max, points)
                implot.plot_stairs(f"##wanted {name}", np.array(x), np.array(y), faint)
            x, y = thinned(self._curves[name], seen.min, seen.max, points)
            implot.plot_line(label, x, y, implot.Spec(line_color=colour, line_weight=1.5))
        moved, moment = implot.drag_line_x(0, self.replaying.time, AMBER)[:2]
        implot.end_plot()
        if moved:
            self.replaying.seek(float(moment))
