"""The toolbar and the status bar: time, speed, tools, setpoint leases, unsaved edits."""

import math
import time
from bisect import bisect
from collections.abc import Callable

from imgui_bundle import imgui

from mjrig.editor.panels.check_panel import COLOURS, Preflight
from mjrig.editor.session.recording import RunRecording
from mjrig.editor.session.simulation import AS_FAST_AS_POSSIBLE
from mjrig.editor.session.state import EditorState
from mjrig.editor.text import tr
from mjrig.editor.ui import icons
from mjrig.editor.ui.colours import ALARM, AMBER, RED, TEXT
from mjrig.editor.ui.layout import px, size
from mjrig.editor.viewport.gizmo import Gizmo, Tool
from mjrig.editor.viewport.scene_renderer import Quality

SPEEDS = (0.1, 0.25, 0.5, 1.0, 2.0, 4.0, AS_FAST_AS_POSSIBLE)

#: How long a message stays in the status bar [s], by its level; it stays in the console.
SHOWN_FOR = {"info": 6.0, "warning": 10.0, "error": 15.0}
#: Room from which on its buttons have words beside their icons.
_ROOM = 960.0
#: Room for the reason why autosaving fails; the tooltip has all of it.
_WARNING_ROOM = 400.0


class Toolbar:
    """Play, pause, step, reset, speed, time travel and tools.

    Args:
        state: state of the editor.
        gizmo: whose tool is chosen here.
        on_stop: called to stop: back to the start, asking what to keep.
        recording: what its button starts and stops.
    """

    def __init__(
        self,
        state: EditorState,
        gizmo: Gizmo,
        on_stop: Callable[[], object],
        recording: RunRecording,
    ) -> None:
        self.state, self.gizmo, self.stop = state, gizmo, on_stop
        self.recording = recording
        self._has_words = True

    def draw(self) -> None:
        """Build the toolbar; where it is narrow, icons stand alone."""
        self._has_words = imgui.get_content_region_avail().x > px(_ROOM)
        self._transport()
        imgui.same_line(spacing=px(16))
        self._record()
        imgui.same_line(spacing=px(16))
        self._speed()
        imgui.same_line(spacing=px(16))
        self._scrub()
        imgui.same_line(spacing=px(16))
        self._tools()

    def _label(self, icon: str, text: str, name: str) -> str:
        return icons.labelled(icon, text, name) if self._has_words else f"{icon}###{name}"

    def _transport(self) -> None:
        simulation = self.state.simulation
        playing = simulation.playing
        icon, text = (icons.PAUSE, tr("Pause")) if playing else (icons.PLAY, tr("Play"))
        if imgui.button(
            self._label(icon, text, tr("play")), size(74 if self._has_words else 30, 0)
        ):
            self.toggle()
        imgui.set_item_tooltip(tr("Play or pause (Space)"))
        imgui.same_line()
        imgui.begin_disabled(playing)
        if imgui.button(self._label(icons.STEP, tr("Step"), tr("Step"))):
            self.state.attempt(simulation.step_once)
        imgui.end_disabled()
        imgui.set_item_tooltip(tr("One step (right arrow)"))
        imgui.same_line()
        if imgui.button(self._label(icons.STOP, tr("Stop"), tr("Stop"))):
            self.state.attempt(self.stop)
        imgui.set_item_tooltip(tr("Stop: back to the start; asks which edits to keep"))
        imgui.same_line()
        if imgui.button(self._label(icons.RESET, tr("Reset"), tr("Reset"))):
            self.state.attempt(simulation.reset)
        imgui.set_item_tooltip(tr("Reset: back to the start (Backspace)"))

    def _record(self) -> None:
        """A red mark, with the recorded time while it runs."""
        recording = self.recording
        on = recording.is_on
        text = f"{recording.duration:.1f} s" if on else tr("Record") if self._has_words else ""
        if on:
            imgui.push_style_color(imgui.Col_.button, ALARM)
        corner, height = imgui.get_cursor_screen_pos(), imgui.get_frame_height()
        wide = 86 if self._has_words or on else 30
        if imgui.button(f"     {text}###record", size(wide, 0)):
            recording.toggle()
        if on:
            imgui.pop_style_color()
        centre = imgui.ImVec2(corner.x + px(14), corner.y + 0.5 * height)
        imgui.get_window_draw_list().add_circle_filled(centre, px(5), imgui.get_color_u32(RED))
        about = (
            f"{tr('Ctrl+R stops it')}\n{recording.path}"
            if on
            else tr("Record (Ctrl+R); File > Record to... asks for the file")
        )
        imgui.set_item_tooltip(about)

    def toggle(self) -> None:
        """Play or pause."""
        session = self.state.session
        if session.simulation.playing:
            session.simulation.pause()
        else:
            self.state.attempt(session.play)

    def _speed(self) -> None:
        simulation = self.state.simulation
        imgui.set_next_item_width(px(76))
        if imgui.begin_combo("##speed", speed_text(simulation.speed)):
            for speed in SPEEDS:
                if imgui.selectable(speed_text(speed), speed == simulation.speed)[0]:
                    simulation.set_speed(speed)
            imgui.end_combo()
        imgui.set_item_tooltip(tr("Simulated seconds per second"))

    def _scrub(self) -> None:
        """Go back through the last minute."""
        simulation, frame = self.state.simulation, self.state.simulation.frame
        first, last = frame.reach
        imgui.set_next_item_width(px(220 if self._has_words else 130))
        imgui.begin_disabled(last <= first)
        moved, moment = imgui.slider_float(
            "##time", frame.time, first, max(last, first + 1e-6), f"t = {frame.time:.3f} s"
        )
        imgui.end_disabled()
        imgui.set_item_tooltip(
            tr("Drag to go back through the last minute; Play resumes from there")
        )
        if moved:
            self.state.attempt(lambda: simulation.go_to(moment))

    def _tools(self) -> None:
        for tool, icon, text, key in (
            (Tool.SELECT, icons.SELECT, tr("Select"), "Ctrl+1"),
            (Tool.MOVE, icons.MOVE, tr("Move"), "Ctrl+2"),
            (Tool.TURN, icons.TURN, tr("Turn"), "Ctrl+3"),
        ):
            active = self.gizmo.tool is tool
            if active:
                imgui.push_style_color(imgui.Col_.button, imgui.ImVec4(0.24, 0.52, 0.88, 1.0))
            if imgui.button(self._label(icon, text, tool.value.capitalize())):
                self.gizmo.tool = tool
            if active:
                imgui.pop_style_color()
            about = "" if tool is Tool.SELECT else tr("; hold Ctrl to snap")
            imgui.set_item_tooltip(f"{text} ({key}){about}")
            imgui.same_line()
        imgui.begin_disabled(self.gizmo.tool is Tool.SELECT)
        _, self.gizmo.local = imgui.checkbox(f"{tr('local')}###local", self.gizmo.local)
        imgui.end_disabled()


class StatusBar:
    """One line: time, real-time factor, setpoint leases, quality, unsaved changes.

    Args:
        state: state of the editor.
        quality: of the viewport.
        preflight: the check of the scene.
        autosave_problem: why unsaved changes cannot be autosaved; empty: they can.
    """

    def __init__(
        self,
        state: EditorState,
        quality: Quality,
        preflight: Preflight,
        autosave_problem: Callable[[], str],
    ) -> None:
        self.state, self.quality, self.preflight = state, quality, preflight
        self._autosave_problem = autosave_problem

    def draw(self) -> None:
        """Build the status bar."""
        frame = self.state.simulation.frame
        imgui.text(tr("step {steps}", steps=frame.steps))
        imgui.same_line(spacing=px(24))
        factor = (
            tr("real time {factor:.2f}x", factor=frame.real_time_factor)
            if frame.playing
            else "paused"
        )
        imgui.text(factor)
        imgui.same_line(spacing=px(24))
        imgui.text(commanders(self.state))
        imgui.same_line(spacing=px(24))
        fps = tr("{rate:.0f} fps, ", rate=imgui.get_io().framerate) if frame.playing else ""
        scale = self.quality.scale if frame.playing else self.quality.still
        imgui.text(tr("{fps}view {scale:.0%}", fps=fps, scale=scale))
        imgui.set_item_tooltip(tr("{quality}\nChange it under Draw.", quality=self.quality.text))
        imgui.same_line(spacing=px(24))
        entry = self.state.session.undo_stack.undoable
        saved = "unsaved: " + (entry.name if entry else "changes")
        imgui.text(saved if self.state.session.is_dirty else tr("saved"))
        self._warning()
        self._badge()
        self._latest_message()

    def _warning(self) -> None:
        """Unsaved changes that a crash would lose, as long as they cannot be autosaved."""
        if reason := self._autosave_problem():
            imgui.same_line(spacing=px(24))
            text = tr("not autosaved: {reason}", reason=reason)
            imgui.text_colored(RED, shortened(text, px(_WARNING_ROOM)))
            imgui.set_item_tooltip(
                tr("{message}\nSave the scene to keep the changes.", message=text)
            )

    def _badge(self) -> None:
        """What the check found, in its colour."""
        text, level = self.preflight.badge
        imgui.same_line(spacing=px(24))
        imgui.text_colored(
            TEXT if level is None else COLOURS[level], tr("check: {result}", result=text)
        )
        found = self.preflight.latest.findings if self.preflight.latest is not None else []
        lines = [self.preflight.problem] if self.preflight.problem else [str(f) for f in found[:5]]
        imgui.set_item_tooltip("\n".join([*lines, tr("More in the panel Check.")]))

    def _latest_message(self) -> None:
        """The newest line of the console, for a while; as much of it as there is room for."""
        lines = self.state.console.lines
        if not lines or time.monotonic() - lines[-1].at > SHOWN_FOR[lines[-1].level]:
            return
        line = lines[-1]
        imgui.same_line(spacing=px(24))
        colour = {"info": TEXT, "warning": AMBER}.get(line.level, RED)
        room = imgui.get_content_region_avail().x
        imgui.text_colored(colour, shortened(line.text.partition("\n")[0], room))
        imgui.set_item_tooltip(tr("{message}\nMore in the console.", message=line.text))


def shortened(text: str, room: float) -> str:
    """As much of a text as fits into a width [pixels]."""
    if imgui.calc_text_size(text).x <= room:
        return text
    fits = bisect(range(1, len(text)), room, key=lambda n: imgui.calc_text_size(text[:n] + "…").x)
    return text[:fits] + "…"


def commanders(state: EditorState) -> str:
    """What commands each actor."""
    parts = []
    if not state.simulation.frame.robots:
        return tr("no actors")
    for name, robot in state.simulation.frame.robots.items():
        holders = [holder.removeprefix(f"{name}.") for holder in robot.holders]
        who = (
            tr("holds {pose}", pose=robot.held)
            if robot.held
            else ", ".join(holders) or tr("manual control")
        )
        parts.append(f"{name}: {who}")
    return "; ".join(parts[:3]) + ("; …" if len(parts) > 3 else "")


def speed_text(speed: float) -> str:
    """`0.5x`, or `max`."""
    return "max" if math.isinf(speed) else f"{speed:g}x"


def neighbour(speed: float, way: int) -> float:
    """The next slower (-1) or faster (1) of the speeds."""
    nearest = min(range(len(SPEEDS)), key=lambda i: abs(min(SPEEDS[i], 1e9) - min(speed, 1e9)))
    return SPEEDS[min(max(nearest + way, 0), len(SPEEDS) - 1)]
