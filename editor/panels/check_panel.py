"""The check panel: findings of the pre-flight, renewed after every edit, and the binding table."""

import time
from dataclasses import dataclass

from imgui_bundle import imgui

from mjrig.core.findings import Finding, Level
from mjrig.core.scene.editing.scene import Scene
from mjrig.core.sim.world import World
from mjrig.editor.session.background import Background
from mjrig.editor.session.state import EditorState
from mjrig.editor.text import error_text, tr
from mjrig.editor.ui.colours import AMBER, GREEN, GREY, RED
from mjrig.editor.ui.panel import Panel
from mjrig.editor.ui.remedies import draw_remedies
from mjrig.editor.ui.report_view import draw_table
from mjrig.lab.check.preflight import binding_table, findings
from mjrig.lab.report.content import ReportTable

# Preflight ----------------------------------------------------------------------------------------


#: How long the scene must stay as it is before it is checked [s].
DEBOUNCE = 0.4


@dataclass(frozen=True)
class Checked:
    """What a check found: the binding tables of the actors, and the findings."""

    tables: list[ReportTable]
    findings: list[Finding]

    def count(self, level: Level) -> int:
        """How many findings are of a level."""
        return sum(1 for found in self.findings if found.severity is level)


class Preflight:
    """Checks the scene in the background whenever an edit was made."""

    def __init__(self, state: EditorState) -> None:
        self.state = state
        self.latest: Checked | None = None
        #: Why the scene cannot be checked; empty: it can.
        self.problem = ""
        self._work: Background[Checked] | None = None
        self._seen: object = None
        self._begun: object = None
        self._since = 0.0

    @property
    def is_running(self) -> bool:
        """Whether a check is under way, or will be in a moment."""
        return self._work is not None or self._begun != self._mark()

    def _mark(self) -> object:
        """What changes with every edit, with another scene, and with a file taken up."""
        stack = self.state.session.undo_stack
        return id(stack), stack.position, id(stack.undoable), self.state.simulation.generation

    def tick(self) -> None:
        """Once per frame: begin a check where one is due, take the result of one that ended."""
        if self._work is not None:
            if self._work.is_done:
                self._take(self._work)
                self._work = None
            return
        mark, now = self._mark(), time.monotonic()
        if mark != self._seen:
            self._seen, self._since = mark, now
        if mark != self._begun and now - self._since >= DEBOUNCE:
            self._begun = mark
            scene = self.state.scene
            text, base, trusted = scene.to_text(), scene.base, scene.reading.trusted
            self._work = Background(
                lambda: _checked(Scene.parse(text, base, trust=trusted)), "check"
            )

    def _take(self, work: Background[Checked]) -> None:
        self.problem = "" if work.error is None else error_text(work.error)
        self.latest = work.result() if work.error is None else None

    @property
    def badge(self) -> tuple[str, Level | None]:
        """A few words for the status bar, and the worst level they are about."""
        if self.problem:
            return tr("cannot be checked"), Level.ERROR
        if self.latest is None:
            return "checking…", None
        counts = [(self.latest.count(level), level) for level in (Level.ERROR, Level.WARNING)]
        worst = next((level for count, level in counts if count), None)
        text = ", ".join(f"{n} {level}{'s' * (n != 1)}" for n, level in counts if n)
        notes = self.latest.count(Level.NOTE)
        fine = tr("no problems, notes: {count}", count=notes) if notes else tr("no findings")
        return text or fine, worst


def _checked(scene: Scene) -> Checked:
    world = World(scene)
    tables = [binding_table(robot) for robot in world.articulations.values() if robot.actuators]
    return Checked(tables, findings(world))


# Check panel --------------------------------------------------------------------------------------


COLOURS = {Level.ERROR: RED, Level.WARNING: AMBER, Level.NOTE: GREY}


class CheckPanel(Panel):
    """What `mjrig check` says about the scene as it is edited now."""

    title = "Check"
    place = "bottom"

    def __init__(self, state: EditorState) -> None:
        super().__init__(state)
        self.preflight = Preflight(state)

    def draw(self) -> None:
        text, level = self.preflight.badge
        imgui.text_colored(GREEN if level is None else COLOURS[level], text)
        if self.preflight.is_running:
            imgui.same_line()
            imgui.text_colored(GREY, tr("checking…"))
        for problem in (self.preflight.problem, self.state.problems.get("check")):
            if problem:
                imgui.text_wrapped(problem)
        checked = self.preflight.latest
        if checked is None:
            return
        for i, finding in enumerate(checked.findings):
            imgui.push_id(i)
            self._finding(finding)
            imgui.pop_id()
        for table in checked.tables:
            if imgui.collapsing_header(table.title):
                draw_table(table.title, table)

    def _finding(self, finding: Finding) -> None:
        imgui.text_colored(COLOURS[finding.severity], str(finding.severity))
        imgui.same_line()
        if imgui.text_link(finding.where):
            self._select(finding)
        imgui.set_item_tooltip(tr("Select it"))
        imgui.indent()
        imgui.text_wrapped(finding.text)
        if finding.fix:
            imgui.push_style_color(imgui.Col_.text, GREY)
            imgui.text_wrapped(finding.fix)
            imgui.pop_style_color()
        # While an edit is being checked, the findings are those of the scene before it.
        draw_remedies(self.state, finding, field="check", enabled=not self.preflight.is_running)
        imgui.unindent()

    def _select(self, finding: Finding) -> None:
        """Select what a finding is about; joints and actuators by their own pages."""
        robot = self.state.simulation.world.articulations.get(finding.actor)
        if robot is None:
            self.state.selection.only("scene")
            return
        actuators = {b.actuator for b in robot.actuators}
        paths = []
        for name in finding.names:
            kind = "actuator:" if name in actuators else "joint:" * (name in robot.joint_names)
            paths.append(f"{finding.actor}.{kind}{name}")
        self.state.selection.paths = paths or [finding.actor]
