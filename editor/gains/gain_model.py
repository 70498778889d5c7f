"""Tuning: the model behind the gain table and the response panel; independent of widgets.

With the live values of the table (saturation, tracking errors, inertias) and its selection.
"""

import math
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

from mjrig.core.arrays import FloatArray
from mjrig.core.errors import BindingError
from mjrig.core.sim.world import World
from mjrig.editor.gains.gain_edits import (
    Switches,
    changes_for,
    filtered,
    load_preset,
    set_gains,
    with_damping,
    with_frequency,
)
from mjrig.editor.gains.response_tests import JOGGING, GainLab, Jog, LiveTest
from mjrig.editor.session.elements import actuator_path, joint_path, split
from mjrig.editor.session.simulation import Simulation
from mjrig.editor.session.state import EditorState
from mjrig.editor.session.world_frame import WorldFrame
from mjrig.editor.text import tr
from mjrig.lab.check.feedback_loops import inverse_mass
from mjrig.lab.gains.assignment import damping_ratio, frequency
from mjrig.lab.gains.gain_presets import save_preset
from mjrig.lab.gains.gain_rows import LIMIT, Change, GainRow, arrays, gain_rows
from mjrig.lab.rollouts.signals import Signal

# Gain monitor -------------------------------------------------------------------------------------
# Live values of the gain table: saturation, tracking errors, inertias.


#: How long a saturation light looks back [s of simulated time].
LOOK_BACK = 1.0


class Monitor:
    """Remembers the frames of the last second."""

    def __init__(self) -> None:
        self._frames: deque[tuple[float, dict[str, Any]]] = deque()
        self._last: WorldFrame | None = None
        self._generation = -1

    def see(self, frame: WorldFrame) -> None:
        """Take the latest frame in; the same one twice counts once."""
        if frame is self._last:
            return
        went_back = bool(self._frames) and frame.time < self._frames[-1][0]
        if frame.generation != self._generation or went_back:
            self._frames.clear()
        self._generation, self._last = frame.generation, frame
        if self._frames and frame.time == self._frames[-1][0]:
            return
        self._frames.append((frame.time, {n: _limited(r) for n, r in frame.robots.items()}))
        while self._frames[-1][0] - self._frames[0][0] > LOOK_BACK:
            self._frames.popleft()

    def saturation(self, row: GainRow) -> float:
        """Share of the seen frames of the last second in which a limit acted."""
        seen = [robots[row.actor] for _, robots in self._frames if row.actor in robots]
        hits = [bool(s[row.place]) for s in seen if row.place < len(s)]
        return sum(hits) / len(hits) if hits else 0.0

    def error(self, row: GainRow) -> float:
        """Setpoint minus position, now."""
        robot = self._last.robots.get(row.actor) if self._last else None
        if robot is None or row.place >= len(robot.position):
            return 0.0
        return float(robot.setpoint[0, row.column] * row.scale - robot.position[row.place])

    def effort(self, row: GainRow) -> float:
        """Effort after the clamps, now."""
        robot = self._last.robots.get(row.actor) if self._last else None
        return float(robot.effort[row.place]) if robot and row.place < len(robot.effort) else 0.0


def _limited(robot: Any) -> Any:
    """Whether our clamps or the model's limits cut what the law asked for."""
    asked = robot.raw_effort
    return np.abs(asked - robot.applied_effort) > 1e-6 * np.maximum(1.0, np.abs(asked))


@dataclass(frozen=True)
class Inertias:
    """Joint-space inertias of one moment, per degree of freedom of the world [kg·m² or kg]."""

    generation: int
    time: float
    #: 1 / (M⁻¹)ᵢᵢ: the other joints and the base are free to move.
    effective: FloatArray
    #: Mᵢᵢ: the others are held.
    diagonal: FloatArray

    def of(self, row: GainRow, *, held: bool = False) -> float | None:
        """The inertia a row's actuator moves; None where the law does not act on a joint."""
        values = self.diagonal if held else self.effective
        return float(values[row.dof]) if 0 <= row.dof < len(values) else None


def inertias(simulation: Simulation) -> Inertias:
    """The inertias now."""

    def run(world: World) -> Inertias:
        model, data = world.model, world.data
        full = np.zeros((model.nv, model.nv))
        mujoco.mj_fullM(model, data, full)
        effective = 1.0 / np.maximum(np.diag(inverse_mass(model, data)), mujoco.mjMINVAL)
        return Inertias(simulation.generation, world.time, effective, np.diag(full).copy())

    return simulation.call(run)


# Row selection ------------------------------------------------------------------------------------


class RowSelection:
    """Follows the selection of the window, and selects what rows are about."""

    def __init__(self, state: EditorState) -> None:
        self._state = state
        self._seen: list[str] = []

    def followed(self, rows: Sequence[GainRow], chosen: Sequence[str]) -> list[str] | None:
        """The rows of what was selected elsewhere since the last time; None: nothing was.

        Where no joint and no actuator is selected, the rows chosen last stay.
        """
        paths = list(self._state.selection.paths)
        if paths == self._seen:
            return None
        self._seen = paths
        if not any(map(split, paths)):
            return None
        related = self._state.elements.related(paths)
        return [row.key for row in rows if _paths(row) & related]

    def select(self, rows: Sequence[GainRow]) -> None:
        """Select the joints of rows, or the actuators that act on something else."""
        find = self._state.elements.for_actuator
        found = [find(row.actor, row.actuator) for row in rows]
        paths = list(dict.fromkeys(path for path in found if path is not None))
        self._state.selection.paths = paths
        self._seen = list(paths)


def _paths(row: GainRow) -> set[str]:
    own = {actuator_path(row.actor, row.actuator)}
    return own | {joint_path(row.actor, row.joint)} if row.joint else own


# Gain model ---------------------------------------------------------------------------------------


MERGE = "gains"


class Tuning:
    """The rows, which of them are chosen, and the operations on them.

    Call `refresh` once per frame, before anything is drawn.
    """

    def __init__(self, state: EditorState) -> None:
        self.state = state
        self.rows: list[GainRow] = []
        self.filter = ""
        self.filter_problem = ""
        self.all_actors = False
        self.mirror = False
        self.every = False
        #: Use Mᵢᵢ instead of 1 / (M⁻¹)ᵢᵢ for ω and ζ.
        self.held_inertia = False
        self.chosen: list[str] = []
        #: The row to scroll to: it was selected elsewhere; empty: none.
        self.revealed = ""
        self._selection = RowSelection(state)
        self.monitor = Monitor()
        self.switches = Switches()
        self.inertias: Inertias | None = None
        self.lab = GainLab()
        self.signal = Signal()
        self.together = False
        self.auto = True
        self.live_test: LiveTest | None = None
        self.jog: Jog | None = None
        self._seen: tuple[Any, ...] = ()
        #: The armatures that the inertias were computed with: an edit changes those in force.
        self._armature = b""
        self._tested: tuple[Any, ...] | None = None
        self._presets: dict[tuple[str, str], tuple[str, float]] = {}

    # Rows ---------------------------------------------------------------------------------------

    def refresh(self) -> None:
        """Look at the simulation: rows, lights, inertias, tests that ended."""
        state = self.state
        self.monitor.see(state.simulation.frame)
        world, generation = state.simulation.world, state.simulation.generation
        scope = self.scope
        now = arrays(world)
        seen = (generation, scope, state.session.undo_stack.position, *map(id, now))
        if not self._seen or seen != self._seen[0]:
            self.rows = gain_rows(world, state.scene, scope)
            self._seen = (seen, now)  # the arrays are kept, so that their ids stay theirs
        armature = world.model.dof_armature.tobytes()
        is_old = self.inertias is None or self.inertias.generation != generation
        if is_old or armature != self._armature:
            self.update_inertias()
            self._armature = armature
        known = {row.key for row in self.rows}
        self.chosen = [key for key in self.chosen if key in known]
        followed = self._selection.followed(self.rows, self.chosen)
        if followed is not None:
            self.chosen = followed
            self.revealed = followed[0] if followed else ""
        self._look_at_live_test()

    @property
    def scope(self) -> str | None:
        """The actor whose rows are shown; None: all."""
        return None if self.all_actors else self.state.selection.actor

    @property
    def visible(self) -> list[GainRow]:
        """The rows that match the filter; all of them, and `filter_problem`, if it is invalid."""
        self.filter_problem = ""
        try:
            return filtered(self.rows, self.filter)
        except BindingError as error:
            self.filter_problem = str(error)
            return list(self.rows)

    def choose(self, row: GainRow, *, add: bool = False) -> None:
        """Choose a row, which selects its joint; `add` adds it, or takes it out again."""
        if not add:
            self.chosen = [row.key]
        elif row.key in self.chosen:
            self.chosen.remove(row.key)
        else:
            self.chosen.append(row.key)
        self._selection.select(self.chosen_rows)
        if not self.chosen:
            self.state.selection.only(row.actor)

    @property
    def chosen_rows(self) -> list[GainRow]:
        """The chosen rows, in table order."""
        return [row for row in self.rows if row.key in self.chosen]

    def origin(self, row: GainRow, gain: str) -> str:
        """Where a value in force comes from: a preset that was loaded, the scene, or the model."""
        if gain == LIMIT and row.limited_by not in ("", LIMIT):
            return row.limited_by
        name, value = self._presets.get((row.key, gain), ("", math.nan))
        return tr("preset {name}", name=name) if value == row.values[gain] else row.origins[gain]

    # ω and ζ ------------------------------------------------------------------------------------

    def update_inertias(self) -> None:
        """Take the inertias of the present pose."""
        self.inertias = inertias(self.state.simulation)

    def inertia(self, row: GainRow) -> float | None:
        """The inertia that ω and ζ of a row are computed with."""
        return self.inertias.of(row, held=self.held_inertia) if self.inertias else None

    def frequency(self, row: GainRow) -> float | None:
        """Natural frequency [Hz]; None where it has no meaning."""
        inertia = self.inertia(row)
        kp = row.stiffness
        return None if inertia is None or kp is None else frequency(kp, inertia)

    def damping(self, row: GainRow) -> float | None:
        """Damping ratio; None where it has no meaning."""
        inertia = self.inertia(row)
        kp, kv = row.stiffness, row.damping
        if inertia is None or not kp or kv is None:
            return None
        return damping_ratio(kp, kv, inertia)

    # Edits ----------------------------------------------------------------------------------------

    def set_gain(self, row: GainRow, gain: str, value: float, *, merge: bool = False) -> bool:
        """Set one gain of a row, and of its mirror image or all visible ones if so chosen."""
        return self._edit(row, gain, lambda r: {gain: value}, merge)

    def set_frequency(self, row: GainRow, hertz: float, *, merge: bool = False) -> bool:
        """Set kp (and kv, so that ζ stays) to give a natural frequency."""

        def gains(other: GainRow) -> Mapping[str, float] | None:
            inertia = self.inertia(other)
            usable = inertia is not None and {"kp", "kv"} <= other.values.keys()
            return with_frequency(other, hertz, inertia) if usable and inertia else None

        return self._edit(row, "frequency", gains, merge)

    def set_damping(self, row: GainRow, ratio: float, *, merge: bool = False) -> bool:
        """Set kv to give a damping ratio."""

        def gains(other: GainRow) -> Mapping[str, float] | None:
            inertia = self.inertia(other)
            usable = inertia is not None and {"kp", "kv"} <= other.values.keys()
            return with_damping(other, ratio, inertia) if usable and inertia else None

        return self._edit(row, "damping", gains, merge)

    def switch(self, row: GainRow) -> bool:
        """Switch an actuator off, or on again; mirror and all-shown follow to the same state."""
        wanted = not row.is_on

        def gains(other: GainRow) -> Mapping[str, float] | None:
            if LIMIT not in other.values or other.is_native or other.is_on == wanted:
                return None
            live = self.state.live(f"{other.actor}.{other.component}")
            return self.switches.change(other, live)

        return self._edit(row, LIMIT, gains, False)

    def _edit(
        self,
        row: GainRow,
        what: str,
        gains: Callable[[GainRow], Mapping[str, float] | None],
        merge: bool,
    ) -> bool:
        rows = self.visible if self.every else self.rows
        changes = changes_for(row, rows, gains, mirror=self.mirror, every=self.every)
        if not changes:
            self.state.console.warn(f"{row.key}: {row.locked or 'there is nothing to change'}")
            return False
        key = f"{MERGE} {row.key} {what}" if merge else None
        group = self.filter if self.every else ""
        return self._set(changes, field=f"{row.key}.{what}", merge=key, group=group)

    def _set(
        self, changes: Sequence[Change], field: str, merge: str | None, group: str = ""
    ) -> bool:
        session = self.state.session
        return self.state.attempt(
            lambda: set_gains(session, changes, group=group, merge=merge), field=field
        )

    def seal(self) -> None:
        """A drag ended."""
        self.state.session.seal()

    # Presets ------------------------------------------------------------------------------------

    def preset_folder(self) -> Path:
        """Where presets are saved: `gains` beside the folder of scenes, else beside the scene."""
        base = self.state.scene.base
        return base.parent / "gains" if base.name == "scenes" else base / "gains"

    def preset_files(self) -> list[Path]:
        """Presets beside the scene, then the bundled ones."""
        folders = [self.preset_folder(), Path(str(files("mjrig.config"))) / "gains"]
        found = [p for folder in folders for p in sorted(folder.glob("*.yaml"))]
        return list({p.resolve(): p for p in found}.values())

    def why_no_preset(self) -> str:
        """Why no preset can be saved or loaded now; empty: one can."""
        actors = {row.actor for row in self.rows}
        if not actors:
            return tr("no actuator with gains is shown")
        return "" if len(actors) == 1 else tr("select one actor: a preset belongs to one")

    def save(self, path: Path) -> bool:
        """Save the gains in force."""
        done = self.state.attempt(lambda: save_preset(path, self.rows))
        if done:
            self.state.console.say(
                tr("gains of {actor} saved to {path}", actor=self.rows[0].actor, path=path)
            )
        return done

    def load(self, path: Path) -> bool:
        """Load a preset onto the shown actor; the console lists what did not fit."""
        rows = self.rows

        def run() -> None:
            found = load_preset(self.state.session, path, rows)
            for row, gains in found.changes:
                for gain, value in gains.items():
                    self._presets[row.key, gain] = (path.stem, value)
            tell = self.state.console.warn if found.missing or found.extra else None
            (tell or self.state.console.say)(f"{path.name}: {found}")

        return self.state.attempt(run)

    # Tests --------------------------------------------------------------------------------------

    def why_no_test(self) -> str:
        """Why no test can run now; empty: one can."""
        chosen = self.chosen_rows
        if not self.rows:
            return tr("no actuator with gains is shown; select an actor that has one")
        if not chosen:
            return tr("choose actuators: click a name in the gain table, Ctrl+click for more")
        if len({row.actor for row in chosen}) > 1:
            return tr("the chosen actuators belong to several actors; a test needs one actor")
        robot = self.state.simulation.world.articulations[chosen[0].actor]
        no_response = next((r for r in chosen if r.no_response), None)
        if no_response is not None:
            return f"{no_response.actuator}: {no_response.no_response}"
        laws = {b.actuator for c in robot.controllers if c.follows_pose for b in c.bindings}
        bad = [r.actuator for r in chosen if r.actuator not in laws and not r.is_native]
        if bad:
            return tr("{actuator}: its controller does not track positions", actuator=bad[0])
        off = {c.role for c in robot.controllers if not c.enabled}
        return next(
            (
                tr("{component} is disabled", component=r.component)
                for r in chosen
                if r.component in off
            ),
            "",
        )

    def why_no_live_test(self) -> str:
        """Why no test can run on the running robot now; empty: one can."""
        if problem := self.why_no_test():
            return problem
        if self.live_test is not None:
            return tr("a test is running")
        if not self.state.simulation.playing:
            return tr("the simulation is paused: press Play")
        frame = self.state.simulation.frame.robots.get(self.chosen_rows[0].actor)
        if frame is not None and frame.held:
            return tr("the pose {held!r} is held; release it first", held=frame.held)
        if frame is not None and frame.holders:
            return tr("commanded by {names}; release it first", names=", ".join(frame.holders))
        return ""

    def test(self) -> None:
        """Run the test on the copy."""
        if self.why_no_test():
            return
        self._tested = self._test_key()
        self.lab.request(self._job())

    def test_again_if_changed(self) -> None:
        """After an edit of gains, signal or choice, run the test again where one was run."""
        if not self.auto or self._tested is None or self.why_no_test():
            return
        if self._test_key() != self._tested:
            self.test()

    def _test_key(self) -> tuple[Any, ...]:
        actor = self.chosen_rows[0].actor
        values = [tuple(r.values.items()) for r in self.rows if r.actor == actor]
        position = self.state.session.undo_stack.position
        return (tuple(self.chosen), self.signal, self.together, position, *values)

    def _job(self) -> Any:
        chosen = self.chosen_rows
        robot = self.state.simulation.world.articulations[chosen[0].actor]
        names = [row.actuator for row in chosen]
        session = self.state.session
        return self.lab.job(session, robot, names, self.signal, together=self.together)

    def test_live(self) -> None:
        """Run the test on the running robot."""
        if self.why_no_live_test():
            return
        test = LiveTest(self._job())
        if self.state.attempt(lambda: test.start(self.state.simulation)):
            self.live_test = test

    def stop_live(self) -> None:
        """End a test on the running robot."""
        if self.live_test is not None:
            self.live_test.cancel(self.state.simulation)

    def _look_at_live_test(self) -> None:
        test = self.live_test
        if test is None:
            return
        if not test.is_done and test.is_stale(self.state.simulation):
            test.cancel(self.state.simulation)
        if test.is_done:
            self.live_test = None
            if test.result is not None:
                self.lab.take(test.result)
            elif test.problem != "cancelled":
                self.state.console.warn(tr("response test: {problem}", problem=test.problem))

    # Jog ----------------------------------------------------------------------------------------

    def why_no_jog(self, row: GainRow) -> str:
        """Why the setpoint of a row cannot be moved by hand now; empty: it can."""
        frame = self.state.simulation.frame.robots.get(row.actor)
        if frame is not None and frame.held:
            return tr("the pose {pose!r} is held; release it first", pose=frame.held)
        robot = self.state.simulation.world.articulations.get(row.actor)
        leases = list(robot.setpoints.leases) if robot is not None else []
        others = [s.holder for s in leases if row.column in s.indices and s.holder != JOGGING]
        who = ", ".join(others)
        return tr("commanded by {who}; release it first", who=who) if others else ""

    def jog_to(self, row: GainRow, value: float) -> None:
        """Move a joint's setpoint, while a slider is held."""

        def run() -> None:
            if self.jog is None:
                self.jog = Jog(self.state.simulation, row.actor, row.actuator)
            self.jog.to(value)

        self.state.attempt(run)

    def jog_end(self) -> None:
        """The slider was released."""
        if self.jog is not None:
            self.jog.release()
            self.jog = None

    def close(self) -> None:
        """End the background threads."""
        self.jog_end()
        self.lab.close()
