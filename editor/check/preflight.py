"""Preflight: the check of the edited scene, on a world of its own, renewed after every edit."""

import time
from dataclasses import dataclass

from mjrig.check.check import ActuatorRow, findings, rows
from mjrig.check.finding import Finding, Level
from mjrig.editor.session.background import Background
from mjrig.editor.session.state import EditorState
from mjrig.editor.texts.texts import tr
from mjrig.scene_edit.scene import Scene
from mjrig.sim.world import World

#: How long the scene must stay as it is before it is checked [s].
DEBOUNCE = 0.4


@dataclass(frozen=True)
class Checked:
    """What a check found: the binding table by actor, and the findings."""

    tables: dict[str, list[ActuatorRow]]
    findings: list[Finding]

    def count(self, level: Level) -> int:
        """How many findings are of a level."""
        return sum(1 for found in self.findings if found.level is level)


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
        self.problem = "" if work.error is None else str(work.error)
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
    tables = {name: rows(robot) for name, robot in world.articulations.items() if robot.actuators}
    return Checked(tables, findings(world))
