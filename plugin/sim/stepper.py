"""Stepper: how a world advances, chosen whenever the calls between steps change."""

import logging
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import mujoco
import numpy as np
from mujoco import mj_step

from mjrig.control.articulation import Articulation
from mjrig.control.controlled_actor import LeanStep, QuietStep
from mjrig.control.execution import is_rk4
from mjrig.errors import PropertyError
from mjrig.readings.events import Event, EventLog

_logger = logging.getLogger("mjrig")
#: One step, the usual number, without a range of its own: a fiftieth of a small robot's step.
_ONCE = (1,)


class Advance(Protocol):
    """Takes a number of steps; returns how many were taken."""

    def __call__(self, n: int = 1) -> int: ...


def _checked(n: int) -> int:
    """How many steps to take.

    Raises:
        PropertyError: it is no whole number, or negative.
    """
    if not isinstance(n, int | np.integer) or n < 0:
        raise PropertyError(f"step: must be a whole number of steps from 0 on, got {n!r}")
    return int(n)


class StepNotes(Protocol):
    """An observer of every physics step, such as a recorder."""

    def before_step(self) -> None:
        """Controls are written, the step comes next."""

    #: Whether `after_step` is wanted; read after `plan_changed`.
    looks_after: bool

    def after_step(self) -> None:
        """The step was taken."""

    def plan_changed(self) -> None:
        """The calls between steps changed."""

    def state_replaced(self, why: str) -> None:
        """The state was replaced, by a `reset` or a `restore`."""


class Stepper:
    """Advances one MjData; `advance` is the leanest function that meets all requirements.

    Args:
        start_over: resets the world after MuJoCo had to reset its data.
    """

    advance: Advance

    def __init__(
        self,
        model: Any,
        data: Any,
        robots: Sequence[Articulation],
        log: EventLog,
        start_over: Callable[[], None],
        *,
        pause_on_event: bool,
    ) -> None:
        self._model, self._data, self._robots, self._log = model, data, robots, log
        self._timestep = float(model.opt.timestep)
        self._start_over = start_over
        self._pause_on_event = pause_on_event
        self._notes: StepNotes | None = None
        self.is_paused = False
        #: Physics steps since the last reset.
        self.steps = 0
        #: The time before the first step.
        self._zero = 0.0
        #: Called with `advance` whenever it is another function.
        self.on_advance: Callable[[Advance], object] = lambda advance: None
        for robot in robots:
            robot.when_planned(self.replan)
        self.replan()

    @property
    def notes(self) -> StepNotes | None:
        """The observer of every step; steps are then taken one by one."""
        return self._notes

    @notes.setter
    def notes(self, notes: StepNotes | None) -> None:
        self._notes = notes
        self.replan()

    def adopt(self, time: float, steps: int) -> None:
        """Go on from another time and step count."""
        self._data.time = time
        self.steps, self._zero = steps, time - steps * self._timestep

    def state_replaced(self, why: str, steps: int) -> None:
        """The state was replaced: it is this many steps after a reset."""
        self.steps, self._zero = steps, float(self._data.time) - steps * self._timestep
        if self._notes is not None:
            self._notes.state_replaced(why)

    def replan(self) -> None:
        """Choose how to step, after the calls between steps changed."""
        robots, notes = self._robots, self._notes
        self._applies = tuple(robot.control_step for robot in robots)
        if notes is not None:
            notes.plan_changed()
            self._applies = (*self._applies, notes.before_step)
        inner: Advance
        if self._pause_on_event:
            inner = self._watching
        elif any(robot.needs_position_stage for robot in robots):
            inner = self._in_stages
        elif notes is None and all(robot.is_idle for robot in robots):
            quiet = robots[0].quiet_step if len(robots) == 1 else None
            inner = self._idle() if quiet is None else self._quiet(quiet)
        elif notes is None and all(robot.is_idle or robot.quiet_steps for robot in robots):
            inner = self._in_blocks()
        elif notes is not None and len(robots) == 1:
            inner = self._recorded(robots[0], notes.before_step)
        else:
            lean = robots[0].lean_step if len(robots) == 1 else None
            inner = self._controlled() if lean is None else self._lean(lean)
        if is_rk4(self._model) and any(robot.follows_stages for robot in robots):
            inner = self._following(inner)
        self.advance = inner
        if notes is not None and notes.looks_after:
            self.advance = self._noted(inner)
        self.on_advance(self.advance)

    # Where MuJoCo has to reset its data, time starts over: only then is it below n + ½ steps after
    # n steps, but for the first steps after a reset.

    def _idle(self) -> Advance:
        """MuJoCo runs everything: nothing runs between the steps."""
        model, data, timestep, applies = self._model, self._data, self._timestep, self._applies

        def advance(n: int = 1) -> int:
            for apply_controls in applies:
                apply_controls()
            if n == 1:
                mj_step(model, data)
            else:
                mj_step(model, data, _checked(n))
            self.steps += n
            if data.time < (n + 0.5) * timestep:
                self._look_for_divergence(n)
            return n

        return advance

    def _in_blocks(self) -> Advance:
        """MuJoCo runs everything but what components do now and then: steps up to that in a row."""
        model, data, timestep, applies = self._model, self._data, self._timestep, self._applies
        quiet = [ask for robot in self._robots for ask in robot.quiet_steps]

        def advance(n: int = 1) -> int:
            left = _checked(n)
            while left:
                for apply_controls in applies:
                    apply_controls()
                block = min(left, 1 + min([ask() for ask in quiet])) if left > 1 else 1
                mj_step(model, data, block)
                left -= block
            self.steps += n
            if data.time < (n + 0.5) * timestep:
                self._look_for_divergence(n)
            return n

        return advance

    def _controlled(self) -> Advance:
        model, data, timestep, applies = self._model, self._data, self._timestep, self._applies

        def advance(n: int = 1) -> int:
            for _ in _ONCE if n == 1 else range(_checked(n)):
                for apply_controls in applies:
                    apply_controls()
                mj_step(model, data)
            self.steps += n
            if data.time < (n + 0.5) * timestep:
                self._look_for_divergence(n)
            return n

        return advance

    # With one robot, the usual case, its step is part of the loop: a call less in every step.

    def _quiet(self, robot: QuietStep) -> Advance:
        """As `_idle`, for one robot without hooks."""
        model, data, timestep = self._model, self._data, self._timestep
        values, setpoints, ctrl, guard, busy = robot

        def advance(n: int = 1) -> int:
            if values() != setpoints.seen or ctrl() != guard.ctrl:
                busy()
            if n == 1:
                mj_step(model, data)
            else:
                mj_step(model, data, _checked(n))
            self.steps += n
            if data.time < (n + 0.5) * timestep:
                self._look_for_divergence(n)
            return n

        return advance

    def _lean(self, robot: LeanStep) -> Advance:
        """As `_controlled`, for one robot without hooks."""
        model, data, timestep = self._model, self._data, self._timestep
        values, setpoints, take, calls = robot

        def advance(n: int = 1) -> int:
            for _ in _ONCE if n == 1 else range(_checked(n)):
                if values() != setpoints.seen:
                    take()
                for call in calls:
                    call()
                mj_step(model, data)
            self.steps += n
            if data.time < (n + 0.5) * timestep:
                self._look_for_divergence(n)
            return n

        return advance

    def _recorded(self, robot: Articulation, note: Callable[[], None]) -> Advance:
        """The same with an observer, who is called in front of every step."""
        quiet, lean = robot.quiet_step, robot.lean_step
        if robot.is_idle and quiet is not None:
            return self._quiet_recorded(quiet, note)
        if lean is None:
            return self._controlled()
        return self._lean(lean._replace(calls=(*lean.calls, note)))

    def _quiet_recorded(self, robot: QuietStep, note: Callable[[], None]) -> Advance:
        model, data, timestep = self._model, self._data, self._timestep
        values, setpoints, ctrl, guard, busy = robot

        def advance(n: int = 1) -> int:
            for _ in _ONCE if n == 1 else range(_checked(n)):
                if values() != setpoints.seen or ctrl() != guard.ctrl:
                    busy()
                note()
                mj_step(model, data)
            self.steps += n
            if data.time < (n + 0.5) * timestep:
                self._look_for_divergence(n)
            return n

        return advance

    def _in_stages(self, n: int = 1) -> int:
        """Steps whose laws read lengths and masses of the very state they act on."""
        for _ in range(_checked(n)):
            self._once_in_stages()
        self.steps += n
        if self._data.time < (n + 0.5) * self._timestep:
            self._look_for_divergence(n)
        return n

    def _once_in_stages(self) -> None:
        model, data = self._model, self._data
        if is_rk4(model):
            mujoco.mj_fwdPosition(model, data)
            mujoco.mj_fwdVelocity(model, data)
            for apply_controls in self._applies:
                apply_controls()
            mj_step(model, data)
            return
        mujoco.mj_step1(model, data)
        for apply_controls in self._applies:
            apply_controls()
        mujoco.mj_step2(model, data)

    def _watching(self, n: int = 1) -> int:
        """Steps that stop at an event."""
        for done in range(_checked(n)):
            if self.is_paused:
                return done
            before = self._log.count
            self._in_stages(1)
            self.is_paused = self._log.count > before
        return n

    def _noted(self, inner: Advance) -> Advance:
        """Steps taken one by one, with the observer called at each."""

        def advance(n: int = 1) -> int:
            for done in range(_checked(n)):
                notes = self._notes
                if not inner(1):
                    return done
                if notes is not None:
                    notes.after_step()
            return n

        return advance

    def _following(self, inner: Advance) -> Advance:
        """Steps whose trajectories are evaluated at every stage, in MuJoCo's control callback."""
        ours = self._data._address
        robots = [robot for robot in self._robots if robot.follows_stages]

        def advance(n: int = 1) -> int:
            previous = mujoco.get_mjcb_control()

            def at_every_stage(model: Any, data: Any) -> None:
                if previous is not None:
                    previous(model, data)
                if data._address == ours:
                    for robot in robots:
                        robot.follow_stage(data.time)

            mujoco.set_mjcb_control(at_every_stage)
            try:
                return inner(n)
            finally:
                mujoco.set_mjcb_control(previous)

        return advance

    # Divergence ---------------------------------------------------------------------------------

    def _look_for_divergence(self, n: int) -> None:
        """Check whether MuJoCo reset its data in the last n steps; if so, reset the world."""
        warning = mujoco.mjtWarning
        for kind, what in (
            (warning.mjWARN_BADQACC, "acceleration"),
            (warning.mjWARN_BADQVEL, "velocity"),
            (warning.mjWARN_BADQPOS, "position"),
        ):
            record = self._data.warning[int(kind)]
            if record.number:
                began = self._zero + (self.steps - n) * self._timestep
                event = self._divergence(began, what, int(record.lastinfo))
                self._log.add(event)
                _logger.warning("%s", event)
                # MuJoCo reset all but the controllers: start over, alike in every execution mode.
                self._start_over()
                return

    def _divergence(self, began: float, what: str, index: int) -> Event:
        model = self._model
        address = model.jnt_qposadr if what == "position" else model.jnt_dofadr
        joint = int(np.searchsorted(address, index, side="right")) - 1
        robot = next(r for r in self._robots if joint in r.model_map.joint_ids)
        actor, name = robot.name, model.joint(joint).name.removeprefix(robot.model_map.prefix)
        text = f"{actor}.{name}: diverged: its {what} became too large; the world was reset"
        return Event(began, actor, "diverged", "", name, text)
